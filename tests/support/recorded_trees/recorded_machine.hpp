// A recorded machine of tests/machines as a tree of a test's own. The test links substrata_recorded_machines and defines
// MACHINE_TEXTS, the folder of the texts.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "recorded_machines/text_form.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

namespace substrata::testing {

inline void unfold(const std::string& machine, const RecordedTree& tree) {
  std::ifstream file(std::string(MACHINE_TEXTS) + "/" + machine + ".txt");
  machines::from_text(std::string{std::istreambuf_iterator<char>(file), {}}, tree.root());
}

}  // namespace substrata::testing
