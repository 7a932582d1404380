// The command line of a program: options, positional arguments and --help, the same way in every tool.
#ifndef SUBSTRATA_UTILITIES_ARGUMENTS_HPP
#define SUBSTRATA_UTILITIES_ARGUMENTS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace substrata {

// What a program takes. Names are as CLI11 writes them: "-a,--avail" an option, "FILE" a positional argument.
// The variables must live until parse has returned. Thread-compatible.
class Arguments {
 public:
  Arguments(const std::string& program, const std::string& purpose);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void flag(const std::string& names, bool& value, const std::string& text);
  void word(const std::string& names, std::string& value, const std::string& text);
  void required(const std::string& names, std::string& value, const std::string& text);
  void number(const std::string& names, std::uint64_t& value, const std::string& text);
  void words(const std::string& names, std::vector<std::string>& values, const std::string& text);

  // Nothing: go on. Else the status to exit with: 0 after --help, 2 after a wrong command line, whose error
  // was printed to stderr.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace substrata

#endif
