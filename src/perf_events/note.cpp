// Turns errno values of perf_event_open into reasons and cures.
#include "perf_events/note.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/parse.hpp"
#include "perf_events/device_files.hpp"

namespace substrata::perf {

Code code_of_refusal(int os_error) noexcept {
  switch (os_error) {
    case EACCES:
    case EPERM:
      return Code::kPermission;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
    case EINVAL:
      return Code::kNoEvent;
    case EBUSY:
    case ENOSPC:
      return Code::kConflict;
    case ENOMEM:
      return Code::kNoMemory;
    case ENOSYS:
      return Code::kNoSupport;
    default:
      return Code::kSystem;
  }
}

std::string explain_refusal(const char* root, int os_error, bool has_pmu) {
  const std::string base = root == nullptr ? "" : root;
  if (os_error == ENODEV && !base.empty())
    return "this is a recorded machine (SUBSTRATA_ROOT): its kernel's counters can be listed, not counted";
  switch (os_error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      if (has_pmu) return "this processor's PMU does not count it; choose another event";
      return "no hardware PMU is visible here (a virtual machine without one, or the driver is missing); "
             "enable the virtual PMU in the hypervisor, or use software events";
    case EACCES:
    case EPERM: {
      const std::string level = read_line(base + "/proc/sys/kernel/perf_event_paranoid").value_or("");
      const std::string status = read_file(base + "/proc/self/status").value_or("");
      const bool filtered = value_of_key(status, "Seccomp") == "2";
      if (os_error == EPERM && filtered)
        return "a seccomp filter (a container's default) forbids perf_event_open; allow the call in the "
               "container's profile or add the capability CAP_PERFMON";
      if (int64_t number = 0; parse_integer(level, &number) && number > 0)
        return "permission refused at perf_event_paranoid=" + level +
               "; lower it (sysctl kernel.perf_event_paranoid=1) or grant CAP_PERFMON";
      return "permission refused by the kernel or a security module; grant CAP_PERFMON";
    }
    case EBUSY:
      return "another user holds the PMU for itself; end it (a running profiler, the NMI watchdog) and try "
             "again";
    case ENOSPC:
      return "no counter is left; count fewer events at once or multiplex";
    case EOPNOTSUPP:
    case EINVAL:
      return "the kernel's driver refuses this combination of event and options; drop the qualifiers or the "
             "domain it cannot serve";
    case ENOSYS:
      return "this kernel has no perf_event_open; use one built with CONFIG_PERF_EVENTS";
    case EMFILE:
    case ENFILE:
      return "no file descriptor is left; raise the limit (ulimit -n)";
    case ESRCH:
      return "there is no such process or thread; attach to a living one";
    case ENOMEM:
      return "the kernel has no memory for another event";
    default:
      return "perf_event_open: " + std::generic_category().message(os_error);
  }
}

}  // namespace substrata::perf
