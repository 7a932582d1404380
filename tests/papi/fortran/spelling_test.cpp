// Fortran procedures called as a Fortran compiler calls them: by address, texts filled with blanks.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>

#include <cctype>
#include <cstring>
#include <string>

extern "C" {
void papif_library_init_(int* check);
void papif_event_name_to_code_(const char* name, int* code, int* check, size_t length);
void papif_event_code_to_name__(int* code, char* name, int* check, size_t length);
void PAPIF_GET_EVENT_INFO(int* code, char* symbol, char* long_text, char* short_text, int* count, char* note,
                          int* flags, int* check, size_t symbol_length, size_t long_length,
                          size_t short_length, size_t note_length);
void papif_get_exe_info_(char* fullname, char* name, long long* text_start, long long* text_end,
                         long long* data_start, long long* data_end, long long* bss_start, long long* bss_end,
                         int* check, size_t fullname_length, size_t name_length);
void papif_enum_dev_type_(int* modifier, int* handle, int* check);
void papif_get_dev_type_attr_(int* handle, int* attribute, int* value, char* text, int* check, size_t length);
void papif_get_preload_(char* variable, int* check, size_t length);
void papif_set_inherit_(int* inherit, int* check);
}

namespace {

class Fortran : public testing::Test {
 protected:
  void SetUp() override {
    int check = PAPI_VER_CURRENT;
    papif_library_init_(&check);
    ASSERT_EQ(check, PAPI_VER_CURRENT);
  }
};

// PA-10
TEST_F(Fortran, EveryDecorationIsTheSameProcedure) {
  for (const char* name : {"start", "stop", "read", "hl_region_begin", "get_hardware_info"}) {
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    void* const one = dlsym(RTLD_DEFAULT, ("papif_" + std::string(name) + "_").c_str());
    EXPECT_NE(one, nullptr) << name;
    EXPECT_EQ(one, dlsym(RTLD_DEFAULT, ("papif_" + std::string(name) + "__").c_str())) << name;
    EXPECT_EQ(one, dlsym(RTLD_DEFAULT, ("PAPIF_" + upper).c_str())) << name;
  }
}

TEST_F(Fortran, BlanksAfterANameAreNoPartOfIt) {
  int code = 0, check = -99;
  const char name[] = "example:::ticks       ";
  papif_event_name_to_code_(name, &code, &check, sizeof(name) - 1);
  ASSERT_EQ(check, PAPI_OK);
  int wanted = 0;
  ASSERT_EQ(PAPI_event_name_to_code("example:::ticks", &wanted), PAPI_OK);
  EXPECT_EQ(code, wanted);
}

TEST_F(Fortran, TextsAreFilledWithBlanksAndNeverWrittenPastTheirEnd) {
  int code = 0, check = -99;
  ASSERT_EQ(PAPI_event_name_to_code("example:::ticks", &code), PAPI_OK);
  char text[24];
  std::memset(text, '#', sizeof(text));
  papif_event_code_to_name__(&code, text, &check, 20);
  EXPECT_EQ(check, PAPI_OK);
  EXPECT_EQ(std::string(text, 24), "example:::ticks     ####");
  std::memset(text, '#', sizeof(text));
  papif_event_code_to_name__(&code, text, &check, 7);
  EXPECT_EQ(std::string(text, 8), "example#");
}

TEST_F(Fortran, EventInfoComesInFourTextsAndTwoNumbers) {
  int code = 0, count = -1, flags = -1, check = -99;
  ASSERT_EQ(PAPI_event_name_to_code("example:::ticks", &code), PAPI_OK);
  char symbol[32], long_text[64], short_text[16], note[8];
  PAPIF_GET_EVENT_INFO(&code, symbol, long_text, short_text, &count, note, &flags, &check, sizeof(symbol),
                       sizeof(long_text), sizeof(short_text), sizeof(note));
  EXPECT_EQ(check, PAPI_OK);
  EXPECT_EQ(std::string(symbol, 15), "example:::ticks");
  EXPECT_EQ(symbol[31], ' ');
  EXPECT_EQ(count, 1);
  int bad = 0;
  PAPIF_GET_EVENT_INFO(&bad, symbol, long_text, short_text, &count, note, &flags, &check, sizeof(symbol),
                       sizeof(long_text), sizeof(short_text), sizeof(note));
  EXPECT_EQ(check, PAPI_ENOTPRESET);
  EXPECT_EQ(count, 0);
}

TEST_F(Fortran, ProgramKnowsItsOwnName) {
  char fullname[256], name[64];
  long long places[6];
  int check = -99;
  papif_get_exe_info_(fullname, name, places, places + 1, places + 2, places + 3, places + 4, places + 5,
                      &check, sizeof(fullname), sizeof(name));
  ASSERT_EQ(check, PAPI_OK);
  EXPECT_EQ(std::string(name, 21), "fortran_spelling_test");
  EXPECT_LT(places[0], places[1]);
}

TEST_F(Fortran, DevicesAreEnumeratedWithoutAnAddressInAnInteger) {
  int modifier = PAPI_DEV_TYPE_ENUM__ALL, handle = -1, check = -99, value = -1;
  papif_enum_dev_type_(&modifier, &handle, &check);
  ASSERT_EQ(check, PAPI_OK);
  int attribute = PAPI_DEV_TYPE_ATTR__INT_PAPI_ID;
  char text[16];
  papif_get_dev_type_attr_(&handle, &attribute, &value, text, &check, sizeof(text));
  EXPECT_EQ(check, PAPI_OK);
  EXPECT_EQ(value, PAPI_DEV_TYPE_ID__CPU);
  papif_enum_dev_type_(&modifier, &handle, &check);
  EXPECT_EQ(check, PAPI_EINVAL);
}

TEST_F(Fortran, PreloadVariableIsTheLinkersOwn) {
  char variable[12];
  int check = -99;
  papif_get_preload_(variable, &check, sizeof(variable));
  EXPECT_EQ(check, PAPI_OK);
  EXPECT_EQ(std::string(variable, sizeof(variable)), "LD_PRELOAD  ");
}

TEST_F(Fortran, InheritWithoutAnEventsetIsRefused) {
  int inherit = PAPI_INHERIT_ALL, check = -99;
  papif_set_inherit_(&inherit, &check);
  EXPECT_EQ(check, PAPI_ENOEVST);
}

}  // namespace
