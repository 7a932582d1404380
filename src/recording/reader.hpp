// Reads a recording, also one that was cut off or damaged: what is whole is kept, and what is not is reported.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recording/recording.hpp"

namespace substrata::recording {

// Any bytes; never throws for their content. A recording without writers is not a recording. Memory: at most a
// small multiple of `count`.
Recording parse(const unsigned char* bytes, std::size_t count);

// Throws std::system_error when the file cannot be read, std::runtime_error when it is not a recording or of a
// newer version of the format.
Recording read_file(const std::string& path);

// The files as one recording, those of nodes for example; a writer that is in several of them counts once.
Recording read_files(const std::vector<std::string>& paths);

}  // namespace substrata::recording
