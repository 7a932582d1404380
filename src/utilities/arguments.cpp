// Arguments over CLI11, whose header is thereby compiled once.
#include "arguments.hpp"

#include <CLI/CLI.hpp>

namespace substrata {

Arguments::Arguments(const std::string& program, const std::string& purpose)
    : app_(std::make_unique<CLI::App>(purpose, program)) {}
Arguments::~Arguments() = default;

void Arguments::flag(const std::string& names, bool& value, const std::string& text) {
  app_->add_flag(names, value, text);
}

void Arguments::word(const std::string& names, std::string& value, const std::string& text) {
  app_->add_option(names, value, text);
}

void Arguments::required(const std::string& names, std::string& value, const std::string& text) {
  app_->add_option(names, value, text)->required();
}

void Arguments::number(const std::string& names, std::uint64_t& value, const std::string& text) {
  app_->add_option(names, value, text);
}

void Arguments::words(const std::string& names, std::vector<std::string>& values, const std::string& text) {
  app_->add_option(names, values, text);
}

std::optional<int> Arguments::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace substrata
