// Fuzzes what the MPI shim reads out of the program's own output.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sources/mpi/message_counts.hpp"
#include "sources/mpi/section_marks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string name;
  if (substrata::mpi::find_section_mark(text, name)) {
    substrata::mpi::SectionBoard board{};
    board.enter(name);
  }
  (void)substrata::mpi::plain_quoted(text);
  return 0;
}
