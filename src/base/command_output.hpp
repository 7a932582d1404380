// What another program answers.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace substrata {

// What a command of the shell writes to its standard output; its errors are not shown. Empty where it cannot be run.
inline std::string command_output(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen(("{ " + command + "; } 2>/dev/null").c_str(), "r"), [](std::FILE* one) { return pclose(one); });
  std::string out;
  std::array<char, 4096> piece;
  while (pipe != nullptr) {
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe.get());
    if (got == 0) break;
    out.append(piece.data(), got);
  }
  return out;
}

}  // namespace substrata
