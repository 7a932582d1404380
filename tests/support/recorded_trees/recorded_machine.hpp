// A recorded machine of tests/machines as a tree of a test's own. The test links substrata_recorded_machines.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"
#include "tools/recorded_machines/text_form.hpp"

namespace substrata::testing {

inline void unfold(const std::string& text, const RecordedTree& tree) {
  std::ifstream file(text);
  machines::from_text(std::string{std::istreambuf_iterator<char>(file), {}}, tree.root());
}

}  // namespace substrata::testing
