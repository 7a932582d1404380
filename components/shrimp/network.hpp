// The SHRIMP network below shared virtual memory: automatic and deliberate update, and migration of pages on
// the monitors' interrupts.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"
#include "models/shared_virtual_memory/places.hpp"
#include "models/shared_virtual_memory/svm_machine.hpp"
#include "shrimp/board.hpp"
#include "shrimp/ports.hpp"
#include "shrimp/probes.hpp"

namespace substrata::shrimp {

struct NetworkParameters {
  PortParameters ports;
  // Cycles of the processor.
  uint32_t send_cycles = 170;  // to start a deliberate update; 2.8 us, ours
  uint32_t store_cycles =
      4;  // of a store that is written through and snooped, more than one that is not; ours
  uint32_t command_cycles = 15;  // of a monitor command: 15 by EISA, 1 by Xpress (section 3.5)
  bool categories = false;  // procedures write the category register when they begin and end (section 4.2)
  bool commands_by_eisa = true;  // or by the Xpress bus, which the network interface snoops (section 3.5)
  bool begins_only = false;      // procedures write it when they begin, not when they end (section 4.2)
  // The node whose procedures write the registers of all nodes, by remote commands (sections 3.5, 4.2); kEachItsOwn:
  // each node's its own.
  static constexpr uint32_t kEachItsOwn = 256;
  uint32_t chosen_sender = kEachItsOwn;
  bool tag_changes = false;  // a procedure that begins changes the tag of a page of its node (section 4.2)
  // Migration: after so many packets of one size from one sender to one tag (section 4.4). 0: none.
  uint64_t migrate_after = 0;
  uint32_t interrupt_cycles = 1200;  // of the handler besides its commands, 20 us; ours
  uint32_t tag_cycles = 600;         // of a protected write of a page tag, 10 us; ours
  // To clear a word of the histogram memory, for each size and sender that a lent tag counts; 0: one command clears
  // them all. The paper has both: commands for ranges, and words supplied one by one (sections 3.5).
  uint32_t clear_cycles = 0;
  bool announce = false;          // a move starts a deliberate update to every other node: no source
  bool migrate_to_other = false;  // pages go to the node after the one with most packets, for comparison
};

// Thread-bound as the engine.
class Network final : public svm::Network, private workloads::EventSink {
 public:
  explicit Network(const NetworkParameters& parameters) : parameters_(parameters) {}
  // Whose pages migrate; before begin.
  void serve(svm::SvmMachine& machine) noexcept { machine_ = &machine; }

  void begin(workloads::Engine& engine, svm::PacketSink& receiver) override;
  svm::Time send(svm::Packet&& packet, svm::Time now) override;
  svm::Time update(svm::ProcessId from, svm::ProcessId to, std::uint64_t address,
                   std::span<const std::byte> data, svm::Time now) override;
  void flush(svm::ProcessId from, svm::Time now) override;
  svm::Time mark(svm::ProcessId process, svm::Operation operation, svm::Time now) override;
  std::vector<svm::Statistic> statistics() const override;

 private:
  struct Flight {
    Probes::Packet packet;  // what the monitor sees
    svm::Packet message;    // handed over with its last packet
    bool last = false;
    bool command = false;  // to the receiver's category register: the packet's detail
    svm::Time delivered = 0;
  };
  // What waits at a node to leave it, in its order: bursts that the bus has to fetch from memory, and what the
  // interface has already.
  struct Leaving {
    Flight flight;
    svm::Time ready = 0;
    bool by_bus = false;
  };
  // The number before the stage is a flight's, of the last two a node's.
  enum Stage : std::uint64_t { kAtInterface, kTaken, kDelivered, kLeave, kFetched, kStages };

  void on_event(svm::Time now, std::uint64_t argument) override;
  void queue(svm::ProcessId node, Flight&& flight, svm::Time ready, bool by_bus);
  void leave(svm::ProcessId node, svm::Time now);
  void put(Flight&& flight, svm::Time stamped);
  svm::Time write_category(svm::ProcessId process, svm::Time now);
  void see(const Probes::Packet& packet);
  void tag_pages();
  void lend(svm::ProcessId node, std::uint32_t tag);
  void migrate(svm::ProcessId node, std::uint32_t address);
  svm::Time cycles(std::uint64_t count) const noexcept { return count * parameters_.ports.cycle; }
  // What a handler took from the node's processor is charged with its next packet.
  svm::Time charged(svm::ProcessId node) noexcept;

  NetworkParameters parameters_;
  svm::SvmMachine* machine_ = nullptr;
  workloads::Engine* engine_ = nullptr;
  svm::PacketSink* receiver_ = nullptr;
  std::optional<Ports> ports_;
  std::optional<Probes> probes_;
  std::uint16_t phase_ = 0;
  std::vector<svm::Packet> combining_;                  // of each node; without data: nothing
  std::vector<std::vector<std::uint16_t>> procedures_;  // of each node, those it is in
  svm::Places<Flight> flights_;
  std::vector<std::deque<Leaving>> leaving_;  // of each node
  std::vector<bool> at_work_;                 // an event for the node's first is due
  // Migration: the software's own boards, the page that has each tag, the pages that wait for one, and what
  // handlers took from the processors.
  static constexpr std::uint32_t kTags = 15;  // 1 to 15; 0 is for what does not migrate
  std::vector<std::unique_ptr<Board>> boards_;
  std::vector<std::array<std::uint64_t, kTags + 1>> lent_;
  std::vector<std::deque<std::uint64_t>> untagged_;
  std::vector<svm::Time> owed_;
  // Counts.
  std::uint64_t packets_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t commands_ = 0;
  std::uint64_t interrupts_ = 0;
  std::uint64_t migrated_ = 0;
};

}  // namespace substrata::shrimp
