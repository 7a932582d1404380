#include "tool.hpp"

substrata::tests::Ran tool(const std::string& arguments) {
  return substrata::tests::shell(std::string(SUBSTRATA_TOOL) + " " + arguments);
}
