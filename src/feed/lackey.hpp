// Reads the text of valgrind's lackey, line by line.
#pragma once

#include <substrata/feed.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace substrata::feed {

enum class LackeyLine { kTransaction, kIgnored, kMalformed };

// One line without its end: "I  04015e6a,3", " L 1ffefff948,8", " S ...", " M ...", or valgrind's own
// ("==1== ...", "--1-- ...", empty). Of a transaction sets kind, address and size, the rest 0. Thread-safe: pure.
LackeyLine parse_lackey_line(std::string_view line, substrata_transaction* out) noexcept;

}  // namespace substrata::feed
