// Qualified event names: every spelling of one request has one canonical name, every wrong one a message.
#include <gtest/gtest.h>

#include "models/counting/event_names.hpp"

namespace substrata::counting {
namespace {

constexpr Qualifier kQualifiers[] = {{"node", "which node", 0, 15},
                                     {"addr", "addresses", 0, ~uint64_t{0}, true},
                                     {"size", "bytes", 0, 1u << 30},
                                     {"kind", "which kind", 2, 4, false, "page-fetch|lock|barrier"}};
constexpr EventDescription kEvents[] = {{"PACKETS", "Packets."},
                                        {.name = "CLOCK", .text = "A clock.", .unit = "ns", .qualifiers = 1}};

std::string canonical(const std::string& name) {
  Request request;
  const Status status = parse_event_name(kEvents, kQualifiers, name, &request);
  return status.ok() ? canonical_name(kEvents, kQualifiers, request) : "refused";
}

Status refusal(const std::string& name) {
  Request request;
  return parse_event_name(kEvents, kQualifiers, name, &request);
}

TEST(EventName, IsOneForEverySpellingOfItsQualifiers) {
  EXPECT_EQ(canonical("PACKETS"), "PACKETS");
  EXPECT_EQ(canonical("PACKETS:size=4K:node=0x3"), "PACKETS:node=3:size=4096");
  EXPECT_EQ(canonical("PACKETS:node=3:size=4096"), "PACKETS:node=3:size=4096");
  EXPECT_EQ(canonical("PACKETS:addr=0x1000-0x1fff"), "PACKETS:addr=4096-8191");
  EXPECT_EQ(canonical("PACKETS:addr=5"), "PACKETS:addr=5");
  EXPECT_EQ(canonical("PACKETS:addr=0-0xffffffffffffffff"), "PACKETS:addr=0-18446744073709551615");
  EXPECT_EQ(canonical("CLOCK:node=15"), "CLOCK:node=15");
}

TEST(EventName, MayHaveANameForAValue) {  // MY-42
  EXPECT_EQ(canonical("PACKETS:kind=page-fetch"), "PACKETS:kind=2");
  EXPECT_EQ(canonical("PACKETS:kind=barrier:node=1"), "PACKETS:node=1:kind=4");
  EXPECT_EQ(canonical("PACKETS:kind=3"), "PACKETS:kind=3");
  for (const char* wrong : {"page", "page-fetch|lock", "fetch", "", "|", "Lock", "barrier ", "5", "1"})
    EXPECT_EQ(refusal(std::string("PACKETS:kind=") + wrong).code, Code::kAttribute) << wrong;
  EXPECT_NE(std::string(refusal("PACKETS:kind=page").note).find("page-fetch|lock|barrier"),
            std::string::npos);
  EXPECT_EQ(refusal("PACKETS:node=lock").code, Code::kAttribute) << "nodes have no names";
}

TEST(EventName, ThatIsWrongIsRefusedWithWhatWouldBeRight) {
  EXPECT_EQ(refusal("PACKET").code, Code::kNoEvent);
  EXPECT_EQ(refusal("").code, Code::kNoEvent);
  EXPECT_EQ(refusal("packets").code, Code::kNoEvent);
  for (const char* name :
       {"PACKETS:", "PACKETS:nodes=1", "PACKETS:node", "PACKETS:node=", "PACKETS:node=16",
        "PACKETS:node=1:node=1", "PACKETS:node=1-2", "PACKETS:node=-1", "PACKETS:addr=9-3", "PACKETS:addr=1-",
        "PACKETS:size=4X", "PACKETS:size=99999999999999999999", "PACKETS:size=17179869184G",
        "PACKETS:node=1::size=1", "CLOCK:size=1", "PACKETS:node=0x", "PACKETS:node=1 "}) {
    EXPECT_EQ(refusal(name).code, Code::kAttribute) << name;
  }
  EXPECT_NE(std::string(refusal("CLOCK:size=1").note).find("it takes: node"), std::string::npos);
  EXPECT_NE(std::string(refusal("PACKETS:node=16").note).find("0 to 15"), std::string::npos);
}

}  // namespace
}  // namespace substrata::counting
