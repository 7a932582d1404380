// Limits of the operating system that are reached under the script: descriptors, address space, file size, pending
// signals, processes; and a /dev/shm without place.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "script.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

constexpr const char* kNotPossible = "not possible here";

// The script under a limit, and once more without it.
std::string under(int resource, rlim_t soft) {
  rlimit before{};
  getrlimit(static_cast<__rlimit_resource>(resource), &before);
  const rlimit small{soft, before.rlim_max};
  Script script;
  const std::vector<Call> expected = script.pass();
  script.pass();
  const int descriptors = open_descriptors();
  if (setrlimit(static_cast<__rlimit_resource>(resource), &small) != 0) return kNotPossible;
  const std::vector<Call> met = script.pass();
  std::string wrong = script.put_right();
  setrlimit(static_cast<__rlimit_resource>(resource), &before);
  if (wrong.empty()) wrong = not_an_answer(expected, met);
  if (wrong.empty()) wrong = difference(expected, script.pass());
  if (const int more = open_descriptors() - descriptors; wrong.empty() && more > 0)
    wrong = "descriptors are left open:" + last_descriptors(more);
  // The report at the end of the program meets it again.
  setrlimit(static_cast<__rlimit_resource>(resource), &small);
  return wrong;
}

// An ordinary user gets mounts of its own where the kernel gives it a namespace of users.
std::string with_full_shared_memory() {
  if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("shm", "/dev/shm", "tmpfs", 0, "size=64k,mode=1777") != 0)
    return kNotPossible;
  const int ballast = open("/dev/shm/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  while (write(ballast, page.data(), page.size()) > 0) {
  }
  close(ballast);
  Script script;
  script.pass();
  std::string wrong = script.put_right();
  const std::vector<Call> first = script.pass();
  if (wrong.empty()) wrong = difference(first, script.pass());
  return wrong;
}

}  // namespace

Outcome exhausted_limits(const Options& options) {
  Outcome outcome;
  const auto tried = [&](const std::string& name, const std::function<std::string()>& body) {
    const std::string wrong = in_a_process(body);
    if (wrong == kNotPossible) {
      outcome.figures.emplace_back("left out", name + ", " + kNotPossible);
      return;
    }
    ++outcome.tried;
    if (!wrong.empty()) outcome.failures.push_back(name + ": " + wrong);
  };
  const rlim_t most = options.all              ? 64
                      : options.iterations > 0 ? static_cast<rlim_t>(options.iterations)
                                               : 16;
  for (rlim_t files = 0; files < most; ++files)
    tried("RLIMIT_NOFILE " + std::to_string(files), [=] { return under(RLIMIT_NOFILE, files); });
  for (rlim_t bytes = 1; bytes < 65536; bytes *= 8)
    tried("RLIMIT_FSIZE " + std::to_string(bytes), [=] { return under(RLIMIT_FSIZE, bytes); });
  for (rlim_t signals = 0; signals < 4; ++signals)
    tried("RLIMIT_SIGPENDING " + std::to_string(signals), [=] { return under(RLIMIT_SIGPENDING, signals); });
  for (rlim_t bytes = 1; bytes < rlim_t{256} << 20; bytes *= 16)
    tried("RLIMIT_AS " + std::to_string(bytes), [=] { return under(RLIMIT_AS, bytes); });
  tried("RLIMIT_MEMLOCK 0", [] { return under(RLIMIT_MEMLOCK, 0); });
  tried("RLIMIT_STACK 64 KiB", [] { return under(RLIMIT_STACK, 65536); });
  tried("/dev/shm full", with_full_shared_memory);
  return outcome;
}

}  // namespace substrata::torture
