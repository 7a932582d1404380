// A recorded machine as one text, to be looked through, sent and kept: a line a link or file, in the order of paths.
//
//   substrata machine 1
//   /proc/stat:
//   | cpu  10 20 30
//   | cpu0 10 20 30
//   /sys/class/net/eth0 -> ../../devices/virtual/net/eth0     a link
//   /sys/class/powercap/intel-rapl:0/name = package-0         a file of one line
//   /sys/class/powercap/intel-rapl:0/energy_uj !              a file that may not be read
//   /sys/fs/lustre/llite/scratch-ffff88/                      a folder without files
//
// A backslash stands before n, r and itself, and before x with two hexadecimal digits for a byte that is no text
// (in names also a space, \x20, and a colon at the end, \x3a); a line
// of a file that ends without a newline begins with "|\" in the place of "| ". Lines that begin with '#' are left out.
#pragma once

#include <string>
#include <string_view>

namespace substrata::machines {

// The folder as a text. Throws std::system_error.
std::string as_text(const std::string& folder);

// Makes the folder anew from a text. Throws std::runtime_error with the line that is none of the above, or that leads
// out of the folder.
void from_text(std::string_view text, const std::string& folder);

}  // namespace substrata::machines
