// A built-in substrate as a plug-in, machine_<name>, whose machine is the folder that TEST_MACHINE names: for tests
// through PAPI's interface. The files of that machine fail as the kernel's do: a read of one that was removed while it
// was open gives ENODEV, as does that of a device which is gone, and a file X beside which "X.error" lies gives the
// error whose number stands there.
#include <substrata/substrate.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

extern "C" {
substrata::EntryPoint SUBSTRATE_ENTRY, MACHINE_ENTRY;
ssize_t __real_pread(int file, void* to, size_t bytes, off_t at);
ssize_t __wrap_pread(int file, void* to, size_t bytes, off_t at);
}

namespace {

using namespace substrata;

SubstrateTable own;

// The machine's folder, as it is when the substrate is looked at.
const Host* machine(const Host* host) noexcept {
  static std::string root;
  static Host rooted;
  const char* const folder = host->setting(host->context, "TEST_MACHINE");
  root = folder != nullptr ? folder : "/nowhere";
  rooted = *host;
  rooted.root = root.c_str();
  return &rooted;
}

Status detect(const Host* host) noexcept { return own.detect(machine(host)); }
Status open(const Host* host, Device** out) noexcept { return own.open(machine(host), out); }

}  // namespace

extern "C" ssize_t __wrap_pread(int file, void* to, size_t bytes, off_t at) {
  char link[64], name[512];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, name, sizeof name);
  const std::string path(name, length > 0 ? static_cast<size_t>(length) : 0);
  int error = path.ends_with(" (deleted)") ? ENODEV : 0;
  if (std::ifstream fault(path + ".error"); fault) fault >> error;
  if (error == 0) return __real_pread(file, to, bytes, at);
  errno = error;
  return -1;
}

extern "C" __attribute__((visibility("default"))) std::int32_t MACHINE_ENTRY(const Host* host,
                                                                             SubstrateTable* out) noexcept {
  if (const std::int32_t refused = SUBSTRATE_ENTRY(host, &own); refused != 0) return refused;
  *out = own;
  out->name = out->short_name = MACHINE_NAME;
  out->detect = detect;
  out->open = open;
  return 0;
}
