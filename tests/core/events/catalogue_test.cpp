// One code space over all substrates: names, enumeration, presets that open, user events (PA-3, PA-4, PA-16,
// PA-23).
#include "core/events/catalogue.hpp"

#include <set>

#include "core/events/preset.hpp"
#include "support/fake_substrates.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata;
using fake::code;
using fake::set_of;
using fake::ticks;
using testing::Test;

class CatalogueCalls : public fake::LibraryTest {
 protected:
  Catalogue& catalogue() { return Library::instance().catalogue(); }
  EventInfo info_of(uint32_t code) {
    const auto info = catalogue().info(code);
    return info ? **info : EventInfo{};
  }
  // Instead of the user-defined events of before, every line of which must be right.
  void define(const char* lines) {
    const tests::TemporaryFolder folder;
    folder.write("events", lines);
    ASSERT_TRUE(catalogue().load_user_events(folder.file("events"), Catalogue::BadLines::kRefuseFile).ok());
  }
};

TEST_F(CatalogueCalls, EverySpellingOfAnEventGivesOneCode) {  // PA-16
  const uint32_t cycles = code("alpha::CYCLES");
  EXPECT_EQ(kind_of(cycles), CodeKind::kNative);
  EXPECT_EQ(code("alpha:::alpha::CYCLES"), cycles);
  EXPECT_EQ(code("CYCLES"), cycles);
  EXPECT_EQ(catalogue().name_of(cycles).value_or(""), "alpha::CYCLES");
  EXPECT_EQ(code("b"), code("beta:::b"));
  EXPECT_EQ(catalogue().name_of(code("b")).value_or(""), "beta:::b");
  EXPECT_EQ(catalogue().component_of(cycles).value_or(-1), 0);
  EXPECT_EQ(catalogue().component_of(code("b")).value_or(-1), 1);
}

TEST_F(CatalogueCalls, MisspeltNameOpensNothing) {
  const int opens = fake::calls.opens, detects = fake::calls.detects;
  for (const char* name : {"CYCELS", "bb", "aa:u", "PAPI_TOT_CYCS", "no such event", "", "delt:::a"})
    EXPECT_FALSE(catalogue().find(name).has_value()) << name;
  EXPECT_EQ(fake::calls.opens, opens);
  EXPECT_EQ(fake::calls.detects, detects);
}

TEST_F(CatalogueCalls, MisspeltNameIsAnsweredFromWhatClosedComponentsDescribe) {
  const int detects = fake::calls.detects;
  const Result<uint32_t> close = catalogue().find("INSTRUCTION");
  EXPECT_NE(std::string(close.error().note).find("did you mean INSTRUCTIONS"), std::string::npos)
      << close.error().note;
  EXPECT_EQ(fake::calls.detects, detects);
}

TEST_F(CatalogueCalls, NameOpensTheComponentItStatesAndNoOther) {
  const int opens = fake::calls.opens, detects = fake::calls.detects;
  EXPECT_TRUE(catalogue().find("delta:::b").has_value());
  EXPECT_EQ(fake::calls.opens, opens + 1);
  EXPECT_FALSE(catalogue().find("alpha::CYCELS").has_value());
  EXPECT_EQ(fake::calls.opens, opens + 2);
  EXPECT_EQ(fake::calls.detects, detects + 2);
}

TEST_F(CatalogueCalls, BareNameIsFoundInTheFirstComponentThatHasIt) {
  const int opens = fake::calls.opens;
  const Result<uint32_t> found = catalogue().find("b");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(catalogue().component_of(*found).value_or(-1), 1);
  EXPECT_EQ(fake::calls.opens, opens) << "neither alpha nor delta is needed for it";
}

TEST_F(CatalogueCalls, ResolvingANameGivesWhatItsCodeGives) {
  for (const char* name : {"alpha::CYCLES", "b", "PAPI_LST_INS"}) {
    const Result<Composition> resolved = catalogue().resolve(name);
    ASSERT_TRUE(resolved.has_value()) << name;
    EXPECT_EQ(resolved->code, code(name));
    const Result<Composition> composed = catalogue().compose(resolved->code);
    ASSERT_TRUE(composed.has_value()) << name;
    EXPECT_EQ(resolved->component, composed->component);
    EXPECT_EQ(resolved->natives, composed->natives);
  }
  EXPECT_EQ(catalogue().resolve("alpha::HIDDEN").error().code, Code::kNoEvent);
}

TEST_F(CatalogueCalls, UnknownNamesAreAnsweredWithNearOnes) {  // PA-16
  const Result<uint32_t> close = catalogue().find("alpha::CYCELS");
  EXPECT_EQ(close.error().code, Code::kNoEvent);
  EXPECT_NE(std::string(close.error().note).find("did you mean alpha::CYCLES"), std::string::npos)
      << close.error().note;
  const Result<uint32_t> component = catalogue().find("bets:::a");
  EXPECT_EQ(component.error().code, Code::kNoComponent);
  EXPECT_NE(std::string(component.error().note).find("did you mean beta?"), std::string::npos);
  EXPECT_EQ(catalogue().find("papi_tot_cyc").error().code, Code::kNoEvent) << "case matters";
  const Result<uint32_t> gone = catalogue().find("gone:::a");
  EXPECT_EQ(gone.error().code, Code::kNoEvent);
  EXPECT_NE(std::string(gone.error().note).find("plug one in"), std::string::npos) << gone.error().note;
}

TEST_F(CatalogueCalls, ASecondUnknownNameDoesNotMakeAComponentDescribeAllItsEventsAgain) {
  EXPECT_FALSE(catalogue().find("alpha::CYCELS").has_value());
  const int described = fake::calls.described;
  EXPECT_FALSE(catalogue().find("alpha::of no kind at all").has_value());
  EXPECT_EQ(fake::calls.described, described);
  EXPECT_FALSE(catalogue().find("alpha::CYCELS").has_value());
  EXPECT_LE(fake::calls.described, described + 3) << "what is near is looked at again";
}

TEST_F(CatalogueCalls, CodesThatMeanNothingAreDistinguished) {
  EXPECT_EQ(catalogue().name_of(0).error().code, Code::kNoEvent);
  EXPECT_EQ(catalogue().name_of(kPresetMask | 0x7fff).error().code, Code::kNotPreset);
  EXPECT_EQ(catalogue().name_of(kNativeMask | 0x3ffffff).error().code, Code::kNoComponent);
  EXPECT_EQ(catalogue().info(0).error().code, Code::kNotPreset);
  EXPECT_EQ(catalogue().info(kPresetMask | 0x7fff).error().code, Code::kNotPreset);
  EXPECT_EQ(catalogue().info(kNativeMask | 0x3ffffff).error().code, Code::kNoComponent);
  EXPECT_EQ(catalogue().query(0).code, Code::kNoEvent);
  EXPECT_EQ(catalogue().query(kPresetMask | 0x7fff).code, Code::kNotPreset);
  EXPECT_EQ(catalogue().query(kNativeMask | 0x3ffffff).code, Code::kNoComponent);
  EXPECT_EQ(catalogue().query(0xffffffffu).code, Code::kNoEvent);
  EXPECT_EQ(catalogue().component_of(0).value_or(-1), 0);
  EXPECT_EQ(catalogue().component_of(kNativeMask | 0x3ffffff).error().code, Code::kNoEvent);
}

TEST_F(CatalogueCalls, ListingsHoldWhatOpensAndNothingElse) {  // PA-23, PA-37
  std::vector<std::string> names;
  Result<uint32_t> next = catalogue().next_in_component(kNativeMask, Enumerate::kFirst, 0);
  while (next) {
    names.push_back(catalogue().name_of(*next).value_or(""));
    next = catalogue().next_in_component(*next, Enumerate::kEvents, 0);
  }
  EXPECT_EQ(next.error().code, Code::kInvalid);
  // HIDDEN says itself that it is unavailable; CYCLES:u is listed under CYCLES.
  EXPECT_EQ(names, (std::vector<std::string>{"alpha::CYCLES", "alpha::INSTRUCTIONS", "alpha::BROKEN",
                                             "alpha::LOADS"}));
  EXPECT_EQ(catalogue().native_count(0), 4u);
  EXPECT_EQ(catalogue().next_in_component(kNativeMask, Enumerate::kFirst, 99).error().code,
            Code::kNoComponent);
  EXPECT_EQ(catalogue().next_in_component(kNativeMask, Enumerate::kFirst, -1).error().code,
            Code::kNoComponent);
  EXPECT_EQ(catalogue().next_in_component(kNativeMask, Enumerate::kFirst, 2).error().code,
            Code::kNoComponent);
  EXPECT_EQ(catalogue().next_in_component(kPresetMask, Enumerate::kFirst, 1).error().code,
            Code::kNoEvent);  // PA-4
}

TEST_F(CatalogueCalls, QualifiedFormsFollowTheirEvent) {
  const uint32_t cycles = code("alpha::CYCLES");
  const Result<uint32_t> user = catalogue().next_in_component(cycles, Enumerate::kQualifiers, 0);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(catalogue().name_of(*user).value_or(""), "alpha::CYCLES:u");
  EXPECT_EQ(catalogue().next_in_component(*user, Enumerate::kQualifiers, 0).error().code, Code::kInvalid);
  EXPECT_EQ(catalogue().next_in_component(code("alpha::LOADS"), Enumerate::kQualifiers, 0).error().code,
            Code::kInvalid);
  const EventInfo info = info_of(cycles);
  EXPECT_EQ(info.qualifiers, std::vector<std::string>{"u"});
  EXPECT_EQ(info.unit, "cycles");
  EXPECT_EQ(info.term_count, 1u);
}

TEST_F(CatalogueCalls, EnumerationOverAllComponentsVisitsEachEventOnce) {  // PA-3
  std::set<uint32_t> codes;
  std::set<int> components;
  Result<uint32_t> next = catalogue().next(kNativeMask, Enumerate::kFirst);
  while (next) {
    EXPECT_TRUE(codes.insert(*next).second);
    components.insert(catalogue().component_of(*next).value_or(-1));
    next = catalogue().next(*next, Enumerate::kEvents);
  }
  EXPECT_EQ(codes.size(), 4u + 3u + 3u);
  EXPECT_EQ(components, (std::set<int>{0, 1, 3}));
}

TEST_F(CatalogueCalls, PresetIsAvailableOnlyWhenItsEventsOpen) {  // PA-23
  uint32_t count = 1;
  Result<uint32_t> next = catalogue().next(kPresetMask, Enumerate::kFirst);
  ASSERT_TRUE(next.has_value());
  while ((next = catalogue().next(*next, Enumerate::kEvents))) ++count;
  EXPECT_EQ(count, kPresetCount);
  EXPECT_EQ(catalogue().preset_count(0), 5u);
  EXPECT_EQ(catalogue().preset_count(1), 0u);
  EXPECT_TRUE(catalogue().query(code("PAPI_TOT_CYC")).ok());
  const Status broken = catalogue().query(code("PAPI_LD_INS"));
  EXPECT_EQ(broken.code, Code::kNoEvent);
  EXPECT_NE(std::string(broken.note).find("BROKEN does not open"), std::string::npos) << broken.note;
  EXPECT_EQ(catalogue().query(code("PAPI_SR_INS")).code, Code::kNoEvent) << "its formula makes no sense";
  const EventInfo missing = info_of(code("PAPI_FP_INS"));
  EXPECT_EQ(missing.term_count, 0u);
  EXPECT_FALSE(missing.why.empty());
  const EventInfo sum = info_of(code("PAPI_LST_INS"));
  EXPECT_EQ(sum.term_count, 2u);
  EXPECT_EQ(sum.derived, "DERIVED_ADD");
  EXPECT_EQ(sum.term_names, (std::vector<std::string>{"alpha::CYCLES", "alpha::INSTRUCTIONS"}));
  const EventInfo infix = info_of(code("PAPI_FP_OPS"));
  EXPECT_EQ(infix.derived, "DERIVED_POSTFIX") << "as PAPI shows it";
  EXPECT_EQ(infix.formula, "N1|N0|-|0.5|*|");
  std::vector<uint32_t> available;
  next = catalogue().next_in_component(kPresetMask, Enumerate::kFirstOfComponent, 0);
  while (next) {
    available.push_back(*next);
    next = catalogue().next_in_component(*next, Enumerate::kPresetAvailable, 0);
  }
  EXPECT_EQ(available.size(), 5u);
  next = catalogue().next(kPresetMask, Enumerate::kPresetTlb);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(catalogue().name_of(*next).value_or(""), "PAPI_TLB_DM");
}

TEST_F(CatalogueCalls, UserEventsAreCountedAsWritten) {  // PA-15
  define(
      "# ratio of the fake\n"
      "EVENT,IPC100,DERIVED_POSTFIX,N1|100|*|N0|/|,alpha::CYCLES,alpha::INSTRUCTIONS,SDESC,\"ipc, times "
      "100\"\n"
      "EVENT,MIXED,DERIVED_ADD,alpha::CYCLES,beta:::a\n"
      "EVENT,ITSELF,NOT_DERIVED,ITSELF\n");
  EXPECT_EQ(code("IPC100"), kUserMask);
  EXPECT_EQ(info_of(kUserMask).short_text, "ipc, times 100");
  EXPECT_EQ(catalogue().compose(code("MIXED")).error().code, Code::kCombination);
  EXPECT_FALSE(catalogue().compose(code("ITSELF")).has_value());
  const int set = set_of({"IPC100", "alpha::LOADS"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 5;
  int64_t values[2] = {};
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[0], 200);
  EXPECT_EQ(values[1], 30);
}

TEST_F(CatalogueCalls, TermsOfUserEventsMayBeDerivedThemselves) {  // PA-15, PA-21
  define(
      "EVENT,IPC100,DERIVED_POSTFIX,N1|100|*|N0|/|,alpha::CYCLES,alpha::INSTRUCTIONS\n"
      "EVENT,DEEP,DERIVED_ADD,PAPI_LST_INS,IPC100\n"
      "EVENT,TWICE,DERIVED_INFIX,N0*2,DEEP\n"
      "EVENT,SAME,NOT_DERIVED,PAPI_LST_INS\n"
      "EVENT,HERE,DERIVED_ADD,THERE,alpha::CYCLES\n"
      "EVENT,THERE,DERIVED_ADD,HERE,alpha::CYCLES\n");
  const int set = set_of({"DEEP", "TWICE", "SAME", "alpha::LOADS"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 5;
  int64_t values[4] = {};
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[0], 5 + 10 + 200);
  EXPECT_EQ(values[1], 430);
  EXPECT_EQ(values[2], 15);
  EXPECT_EQ(values[3], 30);
  const EventInfo deep = info_of(code("DEEP"));
  EXPECT_EQ(deep.term_count, 2u);
  EXPECT_EQ(deep.term_names, (std::vector<std::string>{"PAPI_LST_INS", "IPC100"}));
  EXPECT_EQ(deep.term_codes.at(1), code("IPC100"));
  EXPECT_FALSE(catalogue().compose(code("HERE")).has_value()) << "two that define each other";
}

TEST_F(CatalogueCalls, EventOfABadLineIsAnsweredWithFileLineAndReason) {  // PA-15
  const substrata::tests::TemporaryFolder folder;
  folder.write("mine.csv",
               "EVENT,GOOD,NOT_DERIVED,alpha::CYCLES\n"
               "EVENT,BAD,DERIVED_SUM,alpha::CYCLES\n");
  const std::string path = folder.file("mine.csv");
  EXPECT_EQ(catalogue().load_user_events(path, Catalogue::BadLines::kRefuseFile).code, Code::kInvalid);
  EXPECT_FALSE(catalogue().find("GOOD").has_value()) << "nothing is half done";
  const Status left_out = catalogue().load_user_events(path, Catalogue::BadLines::kLeaveOut);
  EXPECT_NE(std::string(left_out.note).find("mine.csv:2:11: unknown derived type"), std::string::npos);
  EXPECT_TRUE(catalogue().find("GOOD").has_value());
  const Result<uint32_t> bad = catalogue().find("BAD");
  ASSERT_EQ(bad.error().code, Code::kNoEvent);
  EXPECT_NE(std::string(bad.error().note).find("mine.csv:2:11: unknown derived type"), std::string::npos)
      << bad.error().note;
}

TEST(Presets, NumbersAreThoseOfTheHeader) {  // PA-10
  EXPECT_EQ(find_preset("PAPI_L1_DCM"), 0);
  EXPECT_EQ(find_preset("PAPI_TOT_INS"), 0x32);
  EXPECT_EQ(find_preset("PAPI_TOT_CYC"), 0x3b);
  EXPECT_EQ(find_preset("PAPI_FP_OPS"), 0x66);
  EXPECT_EQ(find_preset("PAPI_REF_CYC"), 0x6b);
  EXPECT_EQ(find_preset("PAPI_VEC_HP"), 0x6d);
  EXPECT_EQ(find_preset("PAPI_"), -1);
  EXPECT_EQ(preset_at(kPresetCount), nullptr);
  std::set<std::string> texts;
  for (uint32_t i = 0; i < kPresetCount; ++i) {
    EXPECT_LT(std::string(preset_at(i)->short_text).size(), 64u);
    EXPECT_TRUE(texts.insert(preset_at(i)->text).second) << preset_at(i)->text;
    EXPECT_EQ(find_preset(preset_at(i)->name), static_cast<int>(i));
  }
}

}  // namespace
