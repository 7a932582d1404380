// The lists of machine models and workloads, built-in and added ones, and the run of one on the other.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <substrata/feed.h>
#include <substrata/result.hpp>

#include "base/callers_size.hpp"
#include "base/guard.hpp"
#include "base/immortal.hpp"
#include "feed/built_in.hpp"

namespace {

using substrata::Code;
using substrata::fail;
using substrata::guarded;
using substrata::hand_out;
using substrata::taken_in;

// Linked through the entries themselves.
template <typename Entry>
struct List {
  std::mutex mutex;
  Entry* first = nullptr;
};

List<substrata_machine>& machines() {
  static substrata::Immortal<List<substrata_machine>> list;
  substrata::feed::add_built_in();
  return *list;
}

List<substrata_workload>& workloads() {
  static substrata::Immortal<List<substrata_workload>> list;
  substrata::feed::add_built_in();
  return *list;
}

template <typename Entry>
int add(List<Entry>& list, Entry* entry, const char* what) {
  const std::lock_guard lock(list.mutex);
  Entry** place = &list.first;
  while (*place != nullptr && std::strcmp((*place)->name, entry->name) < 0) place = &(*place)->next;
  if (*place != nullptr && std::strcmp((*place)->name, entry->name) == 0) {
    return fail(Code::kConflict, "there is already a %s '%s'", what, entry->name);
  }
  entry->next = *place;
  *place = entry;
  return 0;
}

template <typename Entry>
const Entry* at(List<Entry>& list, uint32_t index) {
  const std::lock_guard lock(list.mutex);
  const Entry* entry = list.first;
  while (entry != nullptr && index-- > 0) entry = entry->next;
  return entry;
}

template <typename Entry>
const Entry* find(List<Entry>& list, std::string_view name) {
  const std::lock_guard lock(list.mutex);
  const Entry* entry = list.first;
  while (entry != nullptr && entry->name != name) entry = entry->next;
  return entry;
}

template <typename Entry>
std::string names(List<Entry>& list) {
  const std::lock_guard lock(list.mutex);
  std::string all;
  for (const Entry* entry = list.first; entry != nullptr; entry = entry->next) {
    if (!all.empty()) all += ", ";
    all += entry->name;
  }
  return all.empty() ? "none" : all;
}

}  // namespace

void substrata::feed::add_built_in() noexcept {
  // Recursive: what is called here comes back by substrata_machine_add.
  static substrata::Immortal<std::recursive_mutex> mutex;
  static bool begun = false;
  const std::lock_guard lock(*mutex);
  if (begun) return;
  begun = true;
  // What one throws leaves its names off the lists; substrata_run says so.
  for (BuiltIn* const* add = built_in(); *add != nullptr; ++add) guarded(*add);
}

struct substrata_following {
  const substrata_machine* machine;
  void* following;
};

extern "C" {

int substrata_machine_add(substrata_machine* machine) {
  return guarded([&] {
    if (machine == nullptr || machine->struct_size < offsetof(substrata_machine, follow) ||
        machine->name == nullptr || machine->run == nullptr) {
      return fail(Code::kInvalid, "a machine needs its struct_size, a name and a run function");
    }
    return add(machines(), machine, "machine");
  });
}

int substrata_workload_add(substrata_workload* workload) {
  return guarded([&] {
    if (workload == nullptr || workload->struct_size < sizeof(substrata_workload) ||
        workload->name == nullptr) {
      return fail(Code::kInvalid, "a workload needs its struct_size and a name");
    }
    return add(workloads(), workload, "workload");
  });
}

const substrata_machine* substrata_machine_at(uint32_t index) { return at(machines(), index); }

const substrata_workload* substrata_workload_at(uint32_t index) { return at(workloads(), index); }

int substrata_run(const char* machine, const char* workload, const substrata_run_options* options,
                  substrata_run_result* result) {
  return guarded([&] {
    if (machine == nullptr || workload == nullptr) {
      return fail(Code::kInvalid, "substrata_run needs the name of a machine and a workload");
    }
    const substrata_machine* model = find(machines(), machine);
    if (model == nullptr) {
      return fail(Code::kNoEvent, "there is no machine '%s'; there are: %s", machine,
                  names(machines()).c_str());
    }
    const std::string_view spec = workload;
    const std::string kernel(spec.substr(0, spec.find(':')));
    if (find(workloads(), kernel) == nullptr) {
      return fail(Code::kNoEvent, "there is no workload '%s'; there are: %s", kernel.c_str(),
                  names(workloads()).c_str());
    }
    substrata_run_options wanted = taken_in(options);
    if (wanted.processes == 0) wanted.processes = model->default_processes;
    if (model->max_processes != 0 && wanted.processes > model->max_processes) {
      return fail(Code::kInvalid, "machine '%s' was asked for %u processes; it takes at most %u", machine,
                  wanted.processes, model->max_processes);
    }
    substrata_recorder* recorder = nullptr;
    if (wanted.record != nullptr) {
      auto recording = substrata::client::sized<substrata_record_options>();
      const std::string comment =
          std::string("substrata run --machine ") + machine + " --workload " + workload;
      recording.comment = comment.c_str();
      const int refused = substrata_record_start(
          wanted.record, wanted.record_probes != nullptr ? wanted.record_probes : "*", &recording, &recorder);
      if (refused != 0) return refused;
    }
    auto outcome = substrata::client::sized<substrata_run_result>();
    int code = model->run(workload, &wanted, &outcome);
    substrata_flush();
    if (code != 0) fail(code, "%s", outcome.message);
    if (recorder != nullptr) {
      const int recorded = substrata_record_stop(recorder, nullptr);
      // Its reader would take what there is for the whole run. A device or a link is nobody's trace.
      std::error_code unknown;
      if (code != 0 && std::filesystem::symlink_status(wanted.record, unknown).type() ==
                           std::filesystem::file_type::regular)
        std::remove(wanted.record);
      if (code == 0) code = recorded;
    }
    if (result != nullptr) hand_out(outcome, result);
    return code;
  });
}

int substrata_follow(const char* machine, const substrata_run_options* options, substrata_following** out) {
  return guarded([&] {
    if (machine == nullptr || out == nullptr)
      return fail(Code::kInvalid, "substrata_follow needs the name of a machine");
    const substrata_machine* model = find(machines(), machine);
    if (model == nullptr) {
      return fail(Code::kNoEvent, "there is no machine '%s'; there are: %s", machine,
                  names(machines()).c_str());
    }
    if (model->struct_size < sizeof *model || model->follow == nullptr || model->unfollow == nullptr) {
      return fail(Code::kNoSupport,
                  "machine '%s' runs workloads, it does not follow live programs or replays", machine);
    }
    auto following = std::make_unique<substrata_following>(substrata_following{model, nullptr});
    const substrata_run_options wanted = taken_in(options);
    auto outcome = substrata::client::sized<substrata_run_result>();
    following->following = model->follow(&wanted, &outcome);
    if (following->following == nullptr) return fail(Code::kInvalid, "%s", outcome.message);
    *out = following.release();
    return 0;
  });
}

void substrata_unfollow(substrata_following* following) {
  if (following == nullptr) return;
  substrata_flush();
  following->machine->unfollow(following->following);
  delete following;
}

}  // extern "C"
