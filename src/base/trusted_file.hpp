// Whether a file that is to be loaded as code may be written by others.
#pragma once

#include <string>

namespace substrata {

// Empty where only root, this process's user and that user's own group may change the file at `path` or put another in
// its place; otherwise what is wrong, and the cure. Empty, too, for a file that is not there.
std::string who_else_may_write(const std::string& path);

}  // namespace substrata
