// Takes out of texts what says which machine, and whose, they are of.
#pragma once

#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::machines {

// Puts numbers in the place of hardware addresses (MAC), GUIDs and UUIDs, the same for the same one, and "host" and
// "user" in the place of names. Thread-compatible.
class Scrubber {
 public:
  // The names as whole words; those shorter than three letters, or that the kernel's files use for something else,
  // are left in.
  Scrubber(const std::vector<std::string>& hosts, const std::vector<std::string>& users);
  // Of the machine and the user that run this.
  static Scrubber of_this_machine();

  std::string scrub(std::string_view text);
  // The same without the names, which no path of the kernel's holds.
  std::string scrub_path(std::string path);
  // Files with such a name hold nothing else than what is to be left out.
  static bool identifies(std::string_view file_name);

 private:
  struct Form {
    std::regex expression;
    const char* shape;  // printf's: the number of the one replaced
  };
  std::string numbered(const std::string& line, const Form& form);

  std::vector<Form> forms_;
  std::vector<std::pair<std::string, const char*>> names_;
  std::map<std::string, unsigned> known_;
};

}  // namespace substrata::machines
