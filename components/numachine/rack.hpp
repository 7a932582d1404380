// All cards of the modelled NUMAchine in this process, and who may touch them when.
#pragma once

#include <substrata/feed.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "numachine/memory_card.hpp"
#include "numachine/processor_card.hpp"

namespace substrata::numachine {

inline constexpr std::uint32_t kMostProcessors = 256;
inline constexpr std::uint32_t kProcessorsPerStation = 4;

// A machine holds the rack while it runs and lets others in between two steps. Thread-safe.
class Rack {
 public:
  static Rack& instance();

  // Exclusive use; a thread that has it already (a handler called by its machine) gets it again.
  class Use {
   public:
    explicit Use(Rack& rack);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Rack& rack_;
    bool entered_;
  };
  // For the machine, between two steps: lets waiting threads in. One relaxed load when there are none.
  void let_others_in() {
    if (waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      step_aside();
  }

  // Only inside a Use.
  ProcessorCard& processor(std::uint32_t cpu);
  MemoryCard& memory(std::uint32_t station) { return memories_[station]; }
  StationQueues& queues(std::uint32_t station) { return queues_[station]; }
  void reset();
  void on_interrupt(void (*call)(void*, std::uint32_t, std::uint32_t), void* owner) noexcept {
    interrupt_ = call;
    interrupt_owner_ = owner;
  }
  // Miss handlers for the machines that begin next (section 3.3.3).
  struct Informer {
    int (*trigger)(void*, std::uint32_t, const substrata_transaction*) = nullptr;
    void (*handler)(void*, std::uint32_t, const substrata_transaction*) = nullptr;
    void* owner = nullptr;
  };
  Informer& informer() noexcept { return informer_; }
  // The bus cycle up to which all cards have been informed, of the last machine.
  std::uint64_t cycle() const noexcept { return cycle_; }
  void set_cycle(std::uint64_t cycle) noexcept { cycle_ = cycle; }
  // One machine at a time: true if the rack was free.
  bool occupy() noexcept { return !occupied_.exchange(true); }
  void vacate() noexcept { occupied_.store(false); }

  // Lives as long as the process, for readers without a Use.
  const counting::Counter& counter(std::uint32_t cpu, unsigned number);

 private:
  struct Seat {
    ProcessorCard card;
    std::uint32_t cpu = 0;
  };
  Rack() = default;
  void step_aside();

  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<bool> occupied_{false};
  std::array<std::unique_ptr<Seat>, kMostProcessors> processors_;
  std::array<MemoryCard, kMostStations> memories_;
  std::array<StationQueues, kMostStations> queues_;
  std::uint64_t cycle_ = 0;
  void (*interrupt_)(void*, std::uint32_t, std::uint32_t) = nullptr;
  void* interrupt_owner_ = nullptr;
  Informer informer_;
};

}  // namespace substrata::numachine
