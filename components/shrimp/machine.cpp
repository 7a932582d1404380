// Makes the machine from its parameters, and follows the messages of MPI programs.
#include "shrimp/machine.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <stdexcept>

#include "models/shared_virtual_memory/parameters.hpp"
#include "shrimp/network.hpp"
#include "shrimp/rack.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::shrimp {
namespace {

constexpr char kMessages[] = "mpi.rank*.send";

constexpr workloads::Parameter kParameters[] = {
    svm::update_mode(svm::UpdateMode::kAutomatic),
    svm::home_policy(svm::HomePolicy::kFirstTouch),
    workloads::choice("managers", "which node manages a lock or barrier", "zero|spread"),
    workloads::choice("notices",
                      "whether write notices name the pages' homes, so that the directory is asked less",
                      "plain|homes"),
    workloads::choice("categories", "procedures write the category register, by commands over this bus",
                      "off|eisa|xpress"),
    workloads::choice("categories_at", "when they do: at their begin and end, or at their begin only",
                      "both|begin"),
    {"chosen_sender",
     "node whose procedures write the category registers of all nodes, by remote commands; 256: each its own",
     NetworkParameters::kEachItsOwn, 0, NetworkParameters::kEachItsOwn},
    workloads::choice("tag_changes", "a procedure that begins changes the tag of a page", "no|yes"),
    {"tag", "cycles of a protected write of a page tag", NetworkParameters{}.tag_cycles, 0, 1'000'000},
    {"migrate", "packets of one size from one sender to one page tag after which pages migrate, 0: never", 0,
     0, 1'000'000'000},
    workloads::choice("migrate_to", "the writer with most packets, or the node after it, for comparison",
                      "most|other"),
    {"clear",
     "cycles to clear a word of the histogram memory when a page tag is lent, 0: one command clears all", 0,
     0, 1000},
    workloads::choice("announce", "a page that moves is announced to every node", "no|yes"),
    {"burst", "bytes until the EISA bus is given back", 224, 16, 4080},
    svm::kVerify,
};
constexpr std::uint64_t kXpress = 2;

// Shared virtual memory in software on a Pentium of 60 MHz. The instructions' cycle is the paper's; what the
// operating system and the protocol cost are our round numbers for such a processor.
svm::SvmCosts costs(svm::UpdateMode mode) {
  constexpr svm::Time kMicrosecond = 1'000'000;
  svm::SvmCosts made;
  made.cycle = PortParameters{}.cycle;
  made.access = PortParameters{}.cycle;
  made.trap = 20 * kMicrosecond;
  made.page_copy = mode == svm::UpdateMode::kDiffs ? 70 * kMicrosecond : kMicrosecond;
  made.diff_page = 50 * kMicrosecond;
  made.diff_byte = 15'000;
  made.notice = kMicrosecond;
  made.handler = 5 * kMicrosecond;
  made.local = kMicrosecond;
  return made;
}

// The messages of an MPI program on the network: each rank a node, each message cut into bursts that leave
// one after the other from the time stamp of its sending on. In virtual time (the MPI shim's default) the
// stamps are those of a rank that computes at the host's speed; in real time a present-day program outruns
// the network as well. The backlog shows in the latencies of neither: a burst is stamped when it leaves.
class Following {
 public:
  explicit Following(const PortParameters& parameters) : ports_(parameters, kNodes), probes_(kNodes) {
    client::feed::demand(observer_.try_create<&Following::observe>(*this));
    observer_.subscribe(kMessages).value();
  }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  void observe(const substrata_transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) follow(batch[i]);
  }
  void follow(const substrata_transaction& message) noexcept {
    constexpr uint64_t kPicosecondsPerNanosecond = 1000;
    // Messages to oneself do not use the network; a rank of another job has no node.
    if (message.kind != SUBSTRATA_SEND || message.initiator >= kNodes || message.target >= kNodes ||
        message.initiator == message.target)
      return;
    const uint32_t total = std::max<uint32_t>(message.size, 1);
    for (uint32_t sent = 0; sent < total;) {
      const uint32_t size = std::min(total - sent, ports_.parameters().burst);
      sent += size;
      const uint64_t stamped =
          ports_.read_out(message.initiator, size, message.time * kPicosecondsPerNanosecond);
      const uint64_t there = ports_.cross(message.initiator, message.target, size, stamped);
      uint64_t delivered = 0;
      const uint64_t taken = ports_.take_in(message.target, size, there, &delivered);
      probes_.arrived({.time = taken,
                       .stamped = stamped,
                       .detail = message.detail,
                       .sender = message.initiator,
                       .receiver = message.target,
                       .size = size,
                       .kind = SUBSTRATA_PACKET,
                       .phase = message.phase,
                       .flags = static_cast<uint16_t>((message.flags & SUBSTRATA_FLAG_COLLECTIVE) |
                                                      SUBSTRATA_FLAG_MODELLED |
                                                      (sent < total ? SUBSTRATA_FLAG_PARTIAL : 0))});
    }
  }

  Ports ports_;
  Probes probes_;
  client::feed::Observer observer_;
};

struct Shrimp {
  static workloads::MachineDescription description() {
    return {.name = "shrimp",
            .summary =
                "SHRIMP: Pentium nodes with automatic and deliberate update on a mesh, shared virtual memory",
            .parameters = kParameters,
            .default_processes = 16,
            .max_processes = kNodes};
  }
  static std::unique_ptr<workloads::Machine> make(const workloads::Asked& asked, std::string& error) {
    return make_machine(asked.parameters, error);
  }
  static void* begin(const workloads::Asked& asked, std::string& error) {
    workloads::Values values(kParameters);
    if (!values.set(asked.parameters, error)) return nullptr;
    PortParameters ports;
    ports.burst = static_cast<uint32_t>(values["burst"]);
    return new Following(ports);
  }
  static void end(void* following) noexcept { delete static_cast<Following*>(following); }
};

}  // namespace

std::unique_ptr<svm::SvmMachine> make_machine(std::string_view text, std::string& error) {
  workloads::Values values(kParameters);
  if (!values.set(text, error)) return nullptr;
  svm::SvmParameters svm = svm::common_parameters(values);
  svm.managers = values["managers"] == 0 ? svm::Managers::kNodeZero : svm::Managers::kSpread;
  svm.notices_name_homes = values["notices"] != 0;
  svm.costs = costs(svm.mode);
  NetworkParameters network;
  network.ports.burst = static_cast<uint32_t>(values["burst"]);
  network.categories = values["categories"] != 0;
  network.commands_by_eisa = values["categories"] != kXpress;
  if (!network.commands_by_eisa) network.command_cycles = 1;
  network.begins_only = values["categories_at"] != 0;
  network.chosen_sender = static_cast<uint32_t>(values["chosen_sender"]);
  network.tag_changes = values["tag_changes"] != 0;
  network.tag_cycles = static_cast<uint32_t>(values["tag"]);
  network.migrate_after = values["migrate"];
  network.migrate_to_other = values["migrate_to"] != 0;
  network.clear_cycles = static_cast<uint32_t>(values["clear"]);
  network.announce = values["announce"] != 0;
  if (network.migrate_after != 0 && svm.homes == svm::HomePolicy::kFirstTouch) {
    error = "pages migrate from homes that are known at the start: take homes=block or homes=round-robin";
    return nullptr;
  }
  auto made = std::make_unique<Network>(network);
  Network& kept = *made;
  auto machine = std::make_unique<svm::SvmMachine>("shrimp", svm, std::move(made));
  kept.serve(*machine);
  return machine;
}

}  // namespace substrata::shrimp

namespace substrata::built_in {

void shrimp() { workloads::ListedMachine<shrimp::Shrimp>::add(); }

}  // namespace substrata::built_in
