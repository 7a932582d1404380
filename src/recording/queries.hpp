// What lines of the Owl language counted while the command was recorded: attachments that `substrata record --owl`
// makes.
#pragma once

#include <iosfwd>

#include "recording/recording.hpp"

namespace substrata::recording {

inline constexpr const char* kQueryName = "owl";

// The first rows of each table. What is no table is left out.
void write_queries(std::ostream& out, const Recording& recording);

}  // namespace substrata::recording
