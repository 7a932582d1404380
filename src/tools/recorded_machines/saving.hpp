// Takes the files that substrates read of a machine into a folder that can stand for its "/".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/recorded_machines/scrubbing.hpp"

namespace substrata::machines {

struct Saved {
  size_t files = 0;
  std::vector<std::string> closed;  // paths that this user may not read
};

// `root` is where "/" is: "" for this machine, or another recorded one. Links are kept as links below `folder`, which
// is made. A file that may not be read becomes one without content and permissions. Throws std::system_error where
// the folder cannot be written.
Saved save(const std::string& root, const std::string& folder, Scrubber* scrubber);

}  // namespace substrata::machines
