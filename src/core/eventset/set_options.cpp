// The options of one set: domain, granularity, inheritance, target, multiplexing.
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "core/eventset/locked_set.hpp"
#include "core/eventset/options.hpp"

namespace substrata {
namespace {

bool single_bit(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

Status set_domain(int handle, uint32_t domain) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (!is_domain(domain)) return refuse(Code::kInvalidDomain, "0x%x is not a domain", domain);
  if (set->component == nullptr) return no_component();
  const uint32_t known = known_domain(*set->table, domain);
  if (known == 0)
    return refuse(Code::kInvalidDomain, "%s has domains 0x%x; 0x%x was asked for", set->component->name(),
                  set->table->domains, domain);
  Configuration wanted = set->configuration;
  wanted.domain = known;
  return set->apply(wanted);
}

Status set_granularity(int handle, uint32_t granularity) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (!single_bit(granularity) || granularity > kGranularitySystemCpu)
    return refuse(Code::kInvalid, "0x%x is not a granularity", granularity);
  if (set->component == nullptr) return no_component();
  Configuration wanted = set->configuration;
  wanted.granularity = granularity;
  return set->apply(wanted);
}

Status set_inherit(int handle, bool inherit) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if (inherit && !set->component->has(kCanInherit))
    return refuse(Code::kComponent, "%s cannot count the children of a process", set->component->name());
  Configuration wanted = set->configuration;
  wanted.inherit = inherit ? 1 : 0;
  return set->apply(wanted);
}

Status put_beneath(int handle) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  set->beneath = true;
  return kSuccess;
}

Status attach_set(int handle, unsigned long tid) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  // A process that may not be signalled is there nevertheless.
  if (tid == 0 || tid > 0x7fffffff || (kill(static_cast<pid_t>(tid), 0) != 0 && errno == ESRCH))
    return refuse_system(ESRCH, "there is no process or thread %lu", tid);
  if (!set->component->has(kCanAttach))
    return refuse(Code::kComponent, "%s cannot be attached to another thread or process",
                  set->component->name());
  Configuration wanted = set->configuration;
  wanted.target = Target::kThreadOrProcess;
  wanted.target_id = static_cast<int64_t>(tid);
  const Status status = set->apply(wanted);
  if (status.ok()) {
    set->state = (set->state & ~static_cast<uint32_t>(kSetCpuAttached)) | kSetAttached;
  }
  return status;
}

Status detach_set(int handle) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if ((set->state & (kSetAttached | kSetCpuAttached)) == 0)
    return refuse(Code::kInvalid, "the eventset is attached to nothing");
  Configuration wanted = set->configuration;
  wanted.target = Target::kSelf;
  wanted.target_id = 0;
  const Status status = set->apply(wanted);
  if (status.ok()) set->state &= ~static_cast<uint32_t>(kSetAttached | kSetCpuAttached);
  return status;
}

Status bind_set_to_cpu(int handle, int cpu) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if (cpu < 0 || cpu >= sysconf(_SC_NPROCESSORS_CONF))
    return refuse(Code::kInvalid, "there is no processor %d", cpu);
  if (!set->component->has(kCanBindCpu))
    return refuse(Code::kComponent, "%s cannot be bound to a processor", set->component->name());
  Configuration wanted = set->configuration;
  wanted.target = Target::kCpu;
  wanted.target_id = cpu;
  const Status status = set->apply(wanted);
  if (status.ok()) set->state = (set->state & ~static_cast<uint32_t>(kSetAttached)) | kSetCpuAttached;
  return status;
}

Status set_multiplex(int handle, uint64_t period_ns, bool force_software) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  Configuration wanted = set->configuration;
  wanted.multiplex = 1;
  wanted.multiplex_period_ns = period_ns != 0 ? period_ns : default_multiplex_ns();
  const bool by_layer = force_software || !set->component->has(kKernelMultiplex);
  const Status status =
      by_layer == (set->multiplexer != nullptr) ? set->apply(wanted) : set->exchange(by_layer, wanted);
  if (!status.ok()) return status;
  set->state |= kSetMultiplexing;
  if (by_layer) set->overflow_plan();
  return kSuccess;
}

Result<MultiplexOption> multiplex_of(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  MultiplexOption option;
  option.on = (set->state & kSetMultiplexing) != 0;
  option.period_ns = option.on ? set->configuration.multiplex_period_ns : default_multiplex_ns();
  option.software = set->multiplexer != nullptr;
  return option;
}

Result<Configuration> configuration_of(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  if (set->component == nullptr) return no_component();
  return set->configuration;
}

}  // namespace substrata
