// Any text as a recorded machine: it is refused or unfolded within its folder, and what was unfolded is one text, which
// gives itself again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "tools/recorded_machines/text_form.hpp"

namespace {

namespace fs = std::filesystem;

// Two folders deep, so that what leads out of the machine is found beside it.
const fs::path& place() {
  static const fs::path made = [] {
    std::string name =
        (fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) + "/machine-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    static const struct Remove {
      fs::path folder;
      ~Remove() {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
      }
    } remove{name};
    return fs::path(name);
  }();
  return made;
}

int entries(const fs::path& folder) {
  int count = 0;
  for ([[maybe_unused]] const fs::directory_entry& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata::machines;
  const fs::path above = place() / "above";
  const fs::path machine = above / "machine", again = above / "again";
  fs::create_directories(machine);
  try {
    from_text({reinterpret_cast<const char*>(data), size}, machine);
    const std::string text = as_text(machine);
    from_text(text, again);
    if (as_text(again) != text) std::abort();
  } catch (const std::exception&) {
  }
  if (entries(place()) != 1 || entries(above) > 2) std::abort();
  fs::remove_all(above);
  return 0;
}
