// A locale whose numbers have a decimal comma, as a program's that calls setlocale(LC_ALL, "").
#pragma once

#include <clocale>
#include <cstdlib>
#include <string>

#include "support/temporary_folder.hpp"

namespace substrata::tests {

// The process has it until the object goes. Machines need not have such a locale installed: it is made in a folder.
class DecimalComma {
 public:
  DecimalComma() {
    const std::string command = "localedef -f UTF-8 -i de_DE " + folder_.file(kName) + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) return;
    setenv("LOCPATH", folder_.path().c_str(), 1);
    is_set_ = std::setlocale(LC_ALL, kName) != nullptr && *std::localeconv()->decimal_point == ',';
  }
  ~DecimalComma() {
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;
  // False where localedef or its source of German is missing.
  bool is_set() const noexcept { return is_set_; }

 private:
  static constexpr const char* kName = "de_DE.UTF-8";
  const TemporaryFolder folder_;
  bool is_set_ = false;
};

}  // namespace substrata::tests
