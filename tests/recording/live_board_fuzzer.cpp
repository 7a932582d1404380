// What a recorder reads while programs write it: the board of the ranks' messages, whose words change as they like from
// one row to the next, and the files of regions and marks.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "recording/memory_sink.hpp"
#include "recording/sampler/mark_file.hpp"
#include "recording/sampler/mpi_sampler.hpp"
#include "recording/sampler/region_file.hpp"

using namespace substrata;

namespace {

void read_board(const std::uint8_t* data, std::size_t size) {
  sampler::MpiSampler board(data[0] % 2 == 1);
  const int file = open(board.path().c_str(), O_RDWR | O_CLOEXEC);
  void* const memory =
      mmap(nullptr, sizeof(substrata_live_board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) std::abort();
  recording::MemorySink sink({});
  for (std::size_t at = 1; at + 3 < size;) {
    // A place, how many bytes, and the bytes; 0 bytes: a row is taken.
    std::uint16_t place = 0;
    std::memcpy(&place, data + at, sizeof place);
    std::size_t bytes = data[at + 2];
    at += 3;
    if (bytes == 0) board.sample(sink, static_cast<std::int64_t>(at));
    if (bytes > size - at) bytes = size - at;
    const std::size_t where = place * std::size_t{8} % (sizeof(substrata_live_board) - 256);
    std::memcpy(static_cast<char*>(memory) + where, data + at, bytes);
    at += bytes;
  }
  board.sample(sink, 1);
  munmap(memory, sizeof(substrata_live_board));
}

void read_lines(const std::uint8_t* data, std::size_t size) {
  const std::string path = "/dev/shm/substrata-fuzz-regions-" + std::to_string(getpid());
  sampler::RegionFile regions(path);
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  recording::MemorySink sink({});
  // In two pieces, so that a line may come in parts.
  const std::size_t first = size / 3;
  if (write(file, data, first) == static_cast<ssize_t>(first)) regions.take(sink);
  if (write(file, data + first, size - first) == static_cast<ssize_t>(size - first)) regions.take(sink);
  close(file);
  const std::string text(reinterpret_cast<const char*>(data), size);
  recording::Mark mark;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find('\n', begin);
    if (sampler::parse_mark(text.substr(begin, end == std::string::npos ? end : end - begin), &mark) &&
        mark.name.empty() && mark.kind != recording::MarkKind::kEnd)
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  if (data[0] / 2 % 2 == 0)
    read_board(data, size);
  else
    read_lines(data + 1, size - 1);
  return 0;
}
