// Begins the account when the program initialises MPI and ends it before MPI is finalised.
//
// The preloaded MPI shim counts an unmodified program's messages and publishes them. It is compiled once for
// each MPI library's binary interface. Level 1, any MPI: the calls themselves; a collective operation is
// expanded by its textbook algorithm and marked modelled. Level 2, Open MPI of the series it was built for:
// the messages of the point-to-point layer, also those of collectives. Each call goes on to the next
// definition in the process, so that other tools keep working. Polls are not recorded.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/environment.hpp"
#include "sources/mpi/call_time.hpp"
#include "sources/mpi/completion_callbacks.hpp"
#include "sources/mpi/gather.hpp"
#include "sources/mpi/layer.hpp"
#include "sources/mpi/node_clocks.hpp"
#include "sources/mpi/node_memory.hpp"
#include "sources/mpi/outputs.hpp"
#include "sources/mpi/shim.hpp"
#include "sources/mpi/summary.hpp"
#include "sources/mpi/wrap.hpp"

namespace substrata::mpi {
namespace {

// The settings of time; rank 0 reports those that cannot be obeyed.
void read_settings(Shim& self) {
  std::string wrong;
  if (const char* base = environment("SUBSTRATA_MPI_TIME"); base != nullptr && base[0] != '\0') {
    if (std::strcmp(base, "real") == 0)
      self.virtual_time = false;
    else if (std::strcmp(base, "virtual") != 0)
      wrong = "SUBSTRATA_MPI_TIME is 'real' or 'virtual', not '" + std::string(base) + "'";
  }
  if (const char* network = environment("SUBSTRATA_MPI_NETWORK"))
    if (const std::string error = parse_network_model(network, &self.network); !error.empty())
      wrong = "SUBSTRATA_MPI_NETWORK: " + error;
  if (!wrong.empty() && self.rank == 0)
    std::fprintf(stderr, "substrata MPI shim: %s; the default is used\n", wrong.c_str());
  self.clock = VirtualClock(self.network);
}

// Before any message: a sender that finds no inbox leaves no stamp.
void open_stamps(Shim& self) {
  const NodeMemory memory =
      share_memory(self, TimestampBoard::directory_bytes(self.ranks), TimestampBoard::inbox_bytes());
  self.arrivals.stamps = TimestampBoard(memory.at, self.ranks);
  self.arrivals.has_stamps = memory.has_own;
  if (memory.has_own) self.arrivals.stamps.open_inbox(self.rank);
  pmpi().Barrier(MPI_COMM_WORLD);
}

// How long MPI_Init may return earlier in this rank than in another one calls it.
constexpr std::chrono::seconds kLimit{1};

// Whether the ranks may do something together. The user may vouch for ranks that do not know of each other.
bool is_every_rank_here(Shim& self) {
  const char* const vouched = environment("SUBSTRATA_MPI_EVERY_RANK");
  if (vouched != nullptr && std::strcmp(vouched, "1") == 0) return true;
  if (self.presence.all_there(self.ranks, kLimit)) return true;
  const bool wanted = environment("SUBSTRATA_MPI_SUMMARY") != nullptr ||
                      environment("SUBSTRATA_MPI_TRACE") != nullptr ||
                      environment("SUBSTRATA_MPI_CLUSTER") != nullptr;
  if (wanted && (self.presence.is_speaker() || self.rank == 0))
    std::fprintf(
        stderr,
        "substrata MPI shim: %d of %d ranks are known to have the shim; no summary, latencies and cluster "
        "(SUBSTRATA_MPI_EVERY_RANK=1 if all have it)\n",
        self.presence.present(), self.ranks);
  return false;
}

// Before MPI_Init.
void announce() { shim().presence.announce(job_place()); }

// After MPI_Init.
void begin() {
  if (!find_library()) return;
  Shim& self = shim();
  pmpi().Comm_rank(MPI_COMM_WORLD, &self.rank);
  pmpi().Comm_size(MPI_COMM_WORLD, &self.ranks);
  self.together = is_every_rank_here(self);
  const bool able = unharmed(
      [&] {
        self.counts = MessageCounts(self.ranks);
        self.channels.open(self.ranks);
        read_settings(self);
        return true;
      },
      false);
  if (!(self.together ? all_agree(able) : able)) return;
  name_job(self);
  if (self.together) {
    self.phases.share(self);
    open_stamps(self);
  }
  unharmed([&] { open_publishing(self); });  // by itself: the others wait for what follows
  self.status.find();
  if (self.together) {
    measure_clocks(self);
    begin_cluster(self);
  }
  self.level = hook_layer() ? 2 : 1;
  int threads = MPI_THREAD_MULTIPLE;
  pmpi().Query_thread(&threads);
  self.lock.need(threads == MPI_THREAD_MULTIPLE);
  Requests& requests = self.requests;
  requests.may_test_quickly = !self.lock.is_needed() && find_quick_tests();
  requests.have_callbacks = requests.may_test_quickly && self.level == 2 && callbacks_work();
  const std::lock_guard guard(self.lock);
  self.status.open(self.rank, self.level == 1);
  may_be_interrupted(nanoseconds_of_ticks(0));  // the first calls take the counter's rate
  self.counting_since_ns = wall_ns();
  self.counting = true;
}

// Before MPI_Finalize.
void end() {
  Shim& self = shim();
  {
    const std::lock_guard guard(self.lock);
    if (!self.counting) return;
    unharmed([&] {
      settle(self);
      give_up_awaited(self);
    });
    if (!self.arrivals.noticed.empty()) account_noticed(self, real_cycles());
    self.counting = false;
    self.requests.may_test_quickly = false;
  }
  if (self.level == 2) unhook_layer();
  if (self.together) {
    measure_clocks(self);
    write_summary(self);
  }
  close_publishing(self.publishing);
  if (self.together) end_cluster(self);
}

}  // namespace
}  // namespace substrata::mpi

using namespace substrata::mpi;

// clang-format off
EACH(Init, FirstCall, (int* argc, char*** argv), (argc, argv), {
  unharmed(announce);
  const int result = original(argc, argv);
  if (result == MPI_SUCCESS) unharmed(begin);
  return result;
})
EACH(Init_thread, FirstCall, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided), {
  unharmed(announce);
  const int result = original(argc, argv, required, provided);
  if (result == MPI_SUCCESS) unharmed(begin);
  return result;
})
CALL(Finalize, (void), (), {
  unharmed(end);
  return original();
})
// clang-format on
