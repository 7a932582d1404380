// Recorders and counting sets against a slow oracle on seeded values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "papi/sde/tool_interface.h"
#include "sde_lib.h"

namespace {

uint32_t number_of(const std::string& name) {
  uint32_t id = UINT32_MAX;
  EXPECT_EQ(sde_ti_name_to_code(name.c_str(), &id), SDE_OK) << name;
  return id;
}

long long read_number(const std::string& name) {
  long long value = -777;
  EXPECT_EQ(sde_ti_read_counter(number_of(name), &value), SDE_OK) << name;
  return value;
}

int read_int_at(const std::string& name) {
  const long long address = read_number(name);
  if (address == 0) {
    ADD_FAILURE() << name << " has no value";
    return 0;
  }
  const int value = *GET_SDE_RECORDER_ADDRESS(address, int);
  free(GET_SDE_RECORDER_ADDRESS(address, int));
  return value;
}

// PA-31
TEST(SdeRecorder, QuartilesAreThoseOfTheSortedValuesForEveryCount) {
  papi_handle_t library = papi_sde_init("quartiles");
  void* recorder = nullptr;
  ASSERT_EQ(papi_sde_create_recorder(library, "r", sizeof(int), papi_sde_compare_int, &recorder), SDE_OK);
  for (const char* name : {":MIN", ":Q1", ":MED", ":Q3", ":MAX"})
    EXPECT_EQ(read_number(std::string("quartiles::r") + name), 0) << name;
  std::mt19937 random(20);
  std::vector<int> values;
  for (int count = 1; count <= 200; ++count) {
    const int value = static_cast<int>(random() % 1000);
    values.push_back(value);
    ASSERT_EQ(papi_sde_record(recorder, sizeof value, &value), SDE_OK);
    std::vector<int> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    ASSERT_EQ(read_number("quartiles::r:CNT"), count);
    ASSERT_EQ(read_int_at("quartiles::r:MIN"), sorted.front());
    ASSERT_EQ(read_int_at("quartiles::r:Q1"), sorted[n / 4]);
    ASSERT_EQ(read_int_at("quartiles::r:MED"), sorted[n / 2]);
    ASSERT_EQ(read_int_at("quartiles::r:Q3"), sorted[3 * n / 4]);
    ASSERT_EQ(read_int_at("quartiles::r:MAX"), sorted.back());
    const long long whole = read_number("quartiles::r");
    ASSERT_TRUE(std::equal(values.begin(), values.end(), GET_SDE_RECORDER_ADDRESS(whole, int)));
    free(GET_SDE_RECORDER_ADDRESS(whole, int));
  }
  EXPECT_EQ(papi_sde_reset_recorder(recorder), SDE_OK);
  EXPECT_EQ(read_number("quartiles::r:CNT"), 0);
  EXPECT_EQ(read_number("quartiles::r:MAX"), 0);
}

// PA-10: PAPI's libsde copies beyond the value
TEST(SdeRecorder, AValueOfAnotherSizeIsRefused) {
  papi_handle_t library = papi_sde_init("sizes");
  void* recorder = nullptr;
  papi_sde_create_recorder(library, "r", sizeof(int), nullptr, &recorder);
  const long long value = 1;
  EXPECT_EQ(papi_sde_record(recorder, sizeof value, &value), SDE_EINVAL);
  EXPECT_EQ(papi_sde_record(recorder, 1, &value), SDE_EINVAL);
  EXPECT_EQ(papi_sde_record(recorder, sizeof(int), nullptr), SDE_EINVAL);
  EXPECT_EQ(read_number("sizes::r:CNT"), 0);
}

// PA-10
TEST(SdeRecorder, TakesItsPartsWithItWhenUnregistered) {
  papi_handle_t library = papi_sde_init("parts");
  void* recorder = nullptr;
  papi_sde_create_recorder(library, "r", sizeof(int), papi_sde_compare_int, &recorder);
  const uint32_t median = number_of("parts::r:MED");
  const int value = 4;
  EXPECT_EQ(papi_sde_record(recorder, sizeof value, &value), SDE_OK);
  EXPECT_EQ(papi_sde_unregister_counter(library, "r"), SDE_OK);
  EXPECT_EQ(papi_sde_record(recorder, sizeof value, &value), SDE_EINVAL);
  long long ignored = 0;
  EXPECT_EQ(sde_ti_read_counter(median, &ignored), SDE_ENOEVNT);
  EXPECT_EQ(papi_sde_create_recorder(library, "r", sizeof(int), papi_sde_compare_int, &recorder), SDE_OK);
  EXPECT_EQ(number_of("parts::r:MED"), median);
  EXPECT_EQ(read_number("parts::r:CNT"), 0);
}

// PA-31
TEST(SdeCountingSet, CountsEachElementAsAMapDoes) {
  papi_handle_t library = papi_sde_init("bag");
  void* set = nullptr;
  ASSERT_EQ(papi_sde_create_counting_set(library, "s", &set), SDE_OK);
  std::map<std::pair<uint32_t, int>, uint32_t> oracle;
  std::mt19937 random(7);
  for (int step = 0; step < 5000; ++step) {
    const int element = static_cast<int>(random() % 50);
    const uint32_t type = random() % 3;
    if (random() % 3 == 0) {
      ASSERT_EQ(papi_sde_counting_set_remove(set, sizeof element, &element, type), SDE_OK);
      const auto at = oracle.find({type, element});
      if (at != oracle.end() && --at->second == 0) oracle.erase(at);
    } else {
      ASSERT_EQ(papi_sde_counting_set_insert(set, sizeof element, sizeof element, &element, type), SDE_OK);
      ++oracle[{type, element}];
    }
  }
  std::map<std::pair<uint32_t, int>, uint32_t> found;
  const long long address = read_number("bag::s");
  for (auto* at = GET_SDE_RECORDER_ADDRESS(address, cset_list_object_t); at != nullptr;) {
    EXPECT_EQ(at->type_size, sizeof(int));
    found[{at->type_id, *static_cast<int*>(at->ptr)}] = at->count;
    cset_list_object_t* next = at->next;
    free(at->ptr);
    free(at);
    at = next;
  }
  EXPECT_EQ(found, oracle);
}

// PA-10: PAPI's libsde finds no element whose hashable part is shorter than the whole
TEST(SdeCountingSet, ElementsAreRemovedByTheirHashablePart) {
  papi_handle_t library = papi_sde_init("prefix");
  void* set = nullptr;
  papi_sde_create_counting_set(library, "s", &set);
  EXPECT_EQ(papi_sde_counting_set_insert(set, 8, 4, "abcdefg", 3), SDE_OK);
  EXPECT_EQ(papi_sde_counting_set_insert(set, 4, 8, "abcdefg", 3), SDE_EINVAL);
  EXPECT_EQ(papi_sde_counting_set_remove(set, 4, "abcX", 3), SDE_OK);
  const long long still = read_number("prefix::s");
  auto* element = GET_SDE_RECORDER_ADDRESS(still, cset_list_object_t);
  ASSERT_NE(element, nullptr);
  EXPECT_EQ(std::string(static_cast<char*>(element->ptr)), "abcdefg");
  free(element->ptr);
  free(element);
  EXPECT_EQ(papi_sde_counting_set_remove(set, 4, "abcd", 3), SDE_OK);
  EXPECT_EQ(read_number("prefix::s"), 0);
}

}  // namespace
