// What a composition does to the program that it observes.
#pragma once

#include <string_view>

namespace substrata::owl {

// To the process, or to the thread that publishes.
void send_signal(int number, bool to_thread) noexcept;
// A line in the file that a recording gives its program; nothing where none is recorded.
void write_mark(std::string_view text) noexcept;

}  // namespace substrata::owl
