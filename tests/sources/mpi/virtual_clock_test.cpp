// A rank's virtual time, and the text form of its network model.
#include "sources/mpi/virtual_clock.hpp"

#include <gtest/gtest.h>

namespace substrata::mpi {
namespace {

TEST(VirtualClock, AReceiveIsNeverBeforeItsMessageCanBeThere) {  // FE-5
  const NetworkModel model{.factor = 10, .overhead_ns = 100, .latency_ns = 1000, .byte_ns = 2};
  VirtualClock sender(model);
  VirtualClock receiver(model);
  sender.compute(50);
  sender.compute(-7);  // clocks that disagree do not turn it back
  EXPECT_EQ(sender.send(), 500);
  EXPECT_EQ(sender.now(), 600);
  EXPECT_EQ(receiver.receive(500, 50), 500 + 100 + 1000 + 100 + 100);
  receiver.compute(1000);
  EXPECT_EQ(receiver.receive(500, 50), 11800 + 100) << "it was there long before";
}

TEST(NetworkModel, IsReadFromTextAndRefusedWithAMessage) {  // FE-5
  NetworkModel model;
  EXPECT_EQ(parse_network_model("factor=20:byte=12.5", &model), "");
  EXPECT_EQ(describe(model), "factor=20:overhead=1000:latency=10000:byte=12.5");
  EXPECT_EQ(parse_network_model("", &model), "");
  for (const char* wrong :
       {"speed=1", "factor", "factor=", "factor=-1", "factor=x", "latency=1e13", "byte=nan"})
    EXPECT_NE(parse_network_model(wrong, &model), "") << wrong;
  EXPECT_EQ(describe(model), "factor=20:overhead=1000:latency=10000:byte=12.5");
}

}  // namespace
}  // namespace substrata::mpi
