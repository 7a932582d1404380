// What a program sees of its machine: its own number, shared arrays, locks, barriers, messages and region
// marks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sources/workloads/machine.hpp"
#include "sources/workloads/memory.hpp"
#include "sources/workloads/operation.hpp"

namespace substrata::workloads {

// What a process waits for.
enum class WaitKind : std::uint8_t { kNothing, kLock, kUnlock, kBarrier, kSend, kReceive, kFault, kEnded };

// Any sender, in Process::receive.
inline constexpr ProcessId kAnyProcess = ~ProcessId{0};

template <Shareable T>
class View;

// One process of a workload. Its accesses touch real memory and are recorded; a full record, a wait or a page
// fault leaves this stack for the engine's. Thread-bound: used by the program inside Program::run only.
class Process {
 public:
  ProcessId id() const noexcept { return id_; }
  ProcessId count() const noexcept { return count_; }
  // The part of [0, total) that is this process's share when blocks of nearly equal size are dealt out.
  std::pair<std::uint64_t, std::uint64_t> share(std::uint64_t total) const noexcept {
    return share_of(total, id_);
  }
  std::pair<std::uint64_t, std::uint64_t> share_of(std::uint64_t total, ProcessId process) const noexcept {
    return {total * process / count_, total * (process + 1) / count_};
  }

  template <Shareable T>
  View<T> view(const SharedArray<T>& array) noexcept;

  template <Shareable T>
  T load(std::uint64_t address) {
    if (guarded_) [[unlikely]]
      return guarded_load<T>(address);
    T value;
    std::memcpy(&value, view_.memory + address, sizeof(T));
    record(Operation::access(OperationKind::kRead, address, sizeof(T)));
    return value;
  }
  template <Shareable T>
  void store(std::uint64_t address, const T& value) {
    if (guarded_) [[unlikely]] {
      guarded_store<T>(address, value);
      return;
    }
    std::memcpy(view_.memory + address, &value, sizeof(T));
    record(Operation::access(OperationKind::kWrite, address, sizeof(T)));
  }

  // Processor cycles spent without shared accesses.
  void compute(std::uint64_t cycles) {
    const Operation operation(OperationKind::kCompute, cycles);
    computed_ += operation.argument();
    record(operation);
  }
  // Marks; cost what the machine says (a monitor's category register, for example).
  // With a kind: the procedure is an operation of the communication layer, of which the messages sent inside
  // are parts; region 0 then marks the operation alone.
  void enter(RegionId region, LayerKind kind = LayerKind::kNone) {
    record(Operation(OperationKind::kEnter, region, static_cast<unsigned>(kind)));
  }
  void leave(RegionId region, LayerKind kind = LayerKind::kNone) {
    record(Operation(OperationKind::kLeave, region, static_cast<unsigned>(kind)));
  }
  void phase(RegionId region) { record(Operation(OperationKind::kPhase, region)); }

  void lock(std::uint32_t lock) { wait(WaitKind::kLock, lock); }
  void unlock(std::uint32_t lock) { wait(WaitKind::kUnlock, lock); }
  // Waits until every process of the program is at the barrier of this number.
  void barrier(std::uint32_t number = 0) { wait(WaitKind::kBarrier, number); }
  // The data may be changed at once after return; sending to oneself is allowed.
  void send(ProcessId to, std::uint32_t tag, std::span<const std::byte> data);
  // Waits for the next message with that tag from that process (or kAnyProcess). Returns its sender and its
  // data.
  Message receive(ProcessId from, std::uint32_t tag);

  template <Shareable T>
  void send_values(ProcessId to, std::uint32_t tag, std::span<const T> values) {
    send(to, tag, std::as_bytes(values));
  }
  // As receive; the message must hold exactly values.size() elements, else the run ends with an error.
  template <Shareable T>
  void receive_values(ProcessId from, std::uint32_t tag, std::span<T> values) {
    const Message message = receive(from, tag);
    if (message.payload.size() != values.size_bytes()) length_mismatch(message, values.size_bytes());
    std::memcpy(values.data(), message.payload.data(), values.size_bytes());
  }

 private:
  friend class Engine;
  Process() = default;

  void record(Operation operation) {
    *cursor_++ = operation;
    if (cursor_ == limit_) [[unlikely]]
      flush();
  }
  // The same with pages, copies of stored values and a check: out of line, so that the plain case stays
  // small.
  template <Shareable T>
  [[gnu::noinline]] T guarded_load(std::uint64_t address) {
    if (view_.pages != nullptr) guard(address, kPageReadable);
    T value;
    std::memcpy(&value, view_.memory + address, sizeof(T));
    if (view_.oracle != nullptr) compare(address, &value, sizeof(T));
    record(Operation::access(OperationKind::kRead, address, sizeof(T)));
    return value;
  }
  template <Shareable T>
  [[gnu::noinline]] void guarded_store(std::uint64_t address, const T& value) {
    if (view_.pages != nullptr) guard(address, kPageWritable);
    std::memcpy(view_.memory + address, &value, sizeof(T));
    if (view_.stored_values != nullptr) keep_value(&value, sizeof(T));
    if (view_.oracle != nullptr) std::memcpy(view_.oracle + address, &value, sizeof(T));
    // Last, because a full record goes to the machine at once, which then looks for the value.
    record(Operation::access(OperationKind::kWrite, address, sizeof(T)));
  }
  void guard(std::uint64_t address, PageState wanted) {
    const std::uint64_t page = address >> view_.page_shift;
    if (view_.pages[page] < wanted) [[unlikely]]
      fault(page, wanted == kPageWritable);
  }
  void keep_value(const void* value, std::size_t size) {
    const std::size_t slot = (size + 7) & ~std::size_t{7};
    const std::size_t old = view_.stored_values->size();
    view_.stored_values->resize(old + slot);
    std::memcpy(view_.stored_values->data() + old, value, size);
  }
  void compare(std::uint64_t address, const void* value, std::size_t size) {
    if (std::memcmp(view_.oracle + address, value, size) != 0) mismatch(address);
  }
  void flush();
  void fault(std::uint64_t page, bool write);
  void mismatch(std::uint64_t address);
  [[noreturn]] void length_mismatch(const Message& message, std::size_t wanted);
  void wait(WaitKind kind, std::uint64_t first, std::uint64_t second = 0);
  [[noreturn]] void give_up(std::string message);

  // The inner loop's.
  Operation* cursor_ = nullptr;
  Operation* limit_ = nullptr;
  std::uint64_t computed_ = 0;  // cycles of compute operations since the record was empty
  bool guarded_ = false;        // the view asks for more than the access itself
  ProcessView view_;
  // The engine's.
  Engine* engine_ = nullptr;
  ProcessId id_ = 0;
  ProcessId count_ = 0;
  WaitKind wait_ = WaitKind::kNothing;
  bool cancelled_ = false;
  std::uint64_t wait_first_ = 0;   // lock, barrier, page, sender or receiver
  std::uint64_t wait_second_ = 0;  // tag; of a fault: 1 for a write
  Message message_;                // on its way out or in
};

// A shared array as one process sees it; looks like an array. Thread-bound as the process.
template <Shareable T>
class View {
 public:
  // An element: reading and assigning it are accesses of the process.
  class Element {
   public:
    Element(Process& process, std::uint64_t address) noexcept : process_(process), address_(address) {}
    Element(const Element&) noexcept = default;
    operator T() const { return process_.load<T>(address_); }
    Element& operator=(const T& value) {
      process_.store<T>(address_, value);
      return *this;
    }
    Element& operator=(const Element& other) { return *this = static_cast<T>(other); }
    Element& operator+=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
    Element& operator-=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) - value); }
    Element& operator*=(const T& value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

   private:
    Process& process_;
    std::uint64_t address_;
  };

  View(Process& process, const SharedArray<T>& array) noexcept : process_(process), array_(array) {}
  Element operator[](std::uint64_t index) const noexcept { return {process_, array_.address_of(index)}; }
  std::uint64_t size() const noexcept { return array_.length; }

 private:
  Process& process_;
  SharedArray<T> array_;
};

template <Shareable T>
View<T> Process::view(const SharedArray<T>& array) noexcept {
  return View<T>(*this, array);
}

// Marks a procedure, or an operation of the communication layer, for the time it is in scope.
class Procedure {
 public:
  Procedure(Process& process, RegionId region, LayerKind kind = LayerKind::kNone)
      : process_(process), region_(region), kind_(kind) {
    process_.enter(region_, kind_);
  }
  Procedure(const Procedure&) = delete;
  Procedure& operator=(const Procedure&) = delete;
  ~Procedure() { process_.leave(region_, kind_); }

 private:
  Process& process_;
  const RegionId region_;
  const LayerKind kind_;
};

// A parallel program: laid out once, run by every process, checked at the end. Thread-compatible.
class Program {
 public:
  virtual ~Program() = default;
  // Reserves the arrays and names the regions. `processes` will run.
  virtual void lay_out(Memory& memory, ProcessId processes) = 0;
  // The program of one process; the engine adds a barrier after it.
  virtual void run(Process& process) = 0;
  // After the run: a message that says what is wrong with the result, or an empty string.
  virtual std::string check(const Memory& memory) = 0;
};

}  // namespace substrata::workloads
