// Files and numbers of a reproduction.
#include "papers/reproduction.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace substrata::papers {

void Setting::write(const std::string& name, const std::function<void(std::ostream&)>& fill) const {
  if (out.empty()) return;
  std::ofstream file(out + "/" + name);
  fill(file);
  if (!file.flush()) throw std::runtime_error("cannot write " + out + "/" + name);
}

std::string digits(double number, int after_point) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", after_point, number);
  return text;
}

}  // namespace substrata::papers
