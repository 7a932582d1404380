// Every built-in workload at a size that runs in milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace substrata::workloads {

inline constexpr const char* kSmallSpecs[] = {
    "conflict:ways=3:stride=512:rounds=20",
    "false-sharing:rounds=50",
    "fft:points=256",
    "fft:points=512:inverse=1",
    "gauss:n=21",
    "gauss:n=21:ahead=1",
    "gauss:n=21:broadcast=ring",
    "gauss:n=21:pivoting=1",
    "gauss:n=21:pivoting=1:broadcast=ring",
    "hot-spot:words=40:rounds=2:reads=50",
    "lu:n=37:block=5",
    "migratory:rounds=4:words=6",
    "ocean:n=19:sweeps=3",
    "ping-pong:bytes=100:rounds=3",
    "ping-pong:bytes=0:rounds=5:mode=stream",
    "ping-pong:bytes=30:rounds=4:mode=both",
    "ping-pong:bytes=30:rounds=2:mode=pairs:pause=100",
    "pipeline:bytes=3000:window=200:segment=64:call=150",
    "pipeline:bytes=20000:call=5000",
    "pointer-chase:nodes=300:stride=16:steps=200",
    "producer-consumer:words=50:rounds=4",
    "radix:keys=1500:radix=16:bits=10",
    "stream:elements=700:rounds=2",
    "true-sharing:rounds=6:words=3",
    "water-spatial:molecules=120:steps=3:percell=3",
};

// A test's name from its spec: the letters and digits.
inline std::string spec_name(const testing::TestParamInfo<const char*>& info) {
  std::string name;
  for (const char c : std::string(info.param)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}

}  // namespace substrata::workloads
