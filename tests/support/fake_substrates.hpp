// Substrates made for tests: a table each, values that only the test moves, and a log of what the layer
// called.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"
#include "core/eventset/threads.hpp"
#include "core/registry/built_in.hpp"

namespace fake {

// alpha: a processor with presets, prefix "alpha::" and qualifiers.
//   0 alpha::CYCLES  1 alpha::INSTRUCTIONS  2 alpha::BROKEN (cannot be programmed)  3 alpha::HIDDEN
//   (unavailable) 4 alpha::CYCLES:u (qualified)  5 alpha::LOADS
// beta: three events "a", "b", "c" at most two at once, no optional slot; "c" comes from a model.
// gone: detect refuses. delta: everything configurable, kernel multiplexing, overflow by its own
// means. An event of index i counts (i + 1) for every tick. All describe the names of their events;
// alpha, gone and delta count how often they are detected, alpha and delta how often they are opened.
inline std::atomic<int64_t> ticks{0};

struct Calls {
  std::atomic<int> detects{0}, opens{0}, closes{0}, attaches{0}, detaches{0}, creates{0}, destroys{0},
      starts{0}, stops{0}, armed{0}, described{0};  // described: events of Alpha
  std::atomic<int> overlaps{0};                     // calls on one set that met another call on it
  std::atomic<bool> read_fails{false}, configure_fails{false};
};
inline Calls calls;

const substrata::BuiltIn* substrates();

// Brings the library up with the fakes and down again; everything the layer made must be gone afterwards.
class LibraryTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

uint32_t code(const char* name);
// An eventset with the named events.
int set_of(std::initializer_list<const char*> names);

}  // namespace fake
