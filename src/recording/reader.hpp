// Reads a recording, also one that was cut off or damaged: what is whole is kept, and what is not is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recording/recording.hpp"

namespace substrata::recording {

// How many samples are kept at most, of a set of at least 1024 rows fewer rows where there are more (thinning.hpp).
inline constexpr std::size_t kAllSamples = SIZE_MAX;
// Enough for what a page or a table can show; some 300 MB in a report.
inline constexpr std::size_t kSamplesOfAReport = std::size_t{1} << 22;

// Any bytes; never throws for their content. A recording without writers is not a recording. Memory: at most a
// small multiple of `count`.
Recording parse(const unsigned char* bytes, std::size_t count, std::size_t most_samples = kAllSamples);

// Throws std::system_error when the file cannot be read, std::runtime_error when it is not a recording or of a
// newer version of the format. Memory: what is kept, and the largest chunk of the file.
Recording read_file(const std::string& path, std::size_t most_samples = kAllSamples);

// The files as one recording, those of nodes for example; a writer that is in several of them counts once. Each file
// has an equal part of the samples.
Recording read_files(const std::vector<std::string>& paths, std::size_t most_samples = kAllSamples);

}  // namespace substrata::recording
