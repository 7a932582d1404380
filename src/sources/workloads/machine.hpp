// What a machine model offers to the engine that runs a workload on it, and what it may ask of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sources/workloads/memory.hpp"
#include "sources/workloads/operation.hpp"

namespace substrata::workloads {

class Engine;
using ProcessId = std::uint32_t;

// What a process may do with a page of its own copy of the memory.
enum PageState : std::uint8_t { kPageInvalid = 0, kPageReadable = 1, kPageWritable = 2 };

// How a process reaches the shared memory. On a machine with one memory that is the memory itself; on one
// with software coherence it is the process's own copy, guarded by a state for each page.
struct ProcessView {
  std::byte* memory = nullptr;
  const std::uint8_t* pages = nullptr;  // PageState of each page; null: everything may be read and written
  unsigned page_shift = 12;
  // Where each stored value is copied to, in the order of the stores (8-byte slots, see Process::store);
  // null: not wanted. A machine whose network carries the values of single stores reads it as it charges
  // their operations.
  std::vector<std::byte>* stored_values = nullptr;
  // Sequentially consistent memory that each store also goes to and each load is compared with; null: no
  // check.
  std::byte* oracle = nullptr;
};

// A message between two processes of a workload.
struct Message {
  ProcessId from = 0;
  ProcessId to = 0;
  std::uint32_t tag = 0;
  Time sent = 0;       // when the sender began
  Time delivered = 0;  // when the receiver could have it
  std::vector<std::byte> payload;
};
using MessageNumber = std::uint64_t;

// Something that wants to be called at a point of simulated time.
class EventSink {
 public:
  virtual void on_event(Time now, std::uint64_t argument) = 0;

 protected:
  ~EventSink() = default;
};

// One number that a machine reports about a run.
struct Statistic {
  std::string name;
  std::uint64_t value;
};

// A machine model: owns the costs of everything a process does. The engine calls it on one thread, in the
// order of simulated time up to the machine's own quantum. Every on_... call must lead, now or at a later
// event, to one Engine::resume of that process.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string_view name() const = 0;

  // Before the processes start: the program's arrays are laid out and mapped, the process count is known.
  // Throws std::runtime_error with a message when the machine cannot hold them.
  virtual void begin(Engine& engine) = 0;
  // The view of one process; asked once, after begin.
  virtual ProcessView view(ProcessId process) = 0;
  // After all processes have ended and no event is left: makes Engine::memory() the final state of the shared
  // memory. Gives a message when the machine finds itself inconsistent, else an empty string.
  virtual std::string end() { return {}; }

  // How far, in time, a process may be charged ahead of another one. Larger is faster; the order of
  // operations within a quantum is then not the order of time. Default: 0, each process is charged up to the
  // time of the next one.
  virtual Time quantum() const { return 0; }
  // May advance() stop inside an operation, having moved `now` to its next step?
  virtual bool works_in_steps() const { return false; }
  // Charges recorded operations of one process in their order, from `now` on, and moves `now`. Stops after
  // the first operation that ends at or after `horizon`, or at the end. Returns how many were charged: at
  // least one, unless the machine works in steps and moved `now` to the next step of an operation.
  virtual std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                              Time horizon) = 0;

  // The process waits for these, all earlier operations charged.
  virtual void on_lock(ProcessId process, std::uint32_t lock, Time now) = 0;
  virtual void on_unlock(ProcessId process, std::uint32_t lock, Time now) = 0;
  virtual void on_barrier(ProcessId process, std::uint32_t barrier, Time now) = 0;
  // Must also lead to one Engine::deliver of the message.
  virtual void on_send(ProcessId process, MessageNumber message, Time now) = 0;
  // The message is there: when does the receiver have it in its hands? The engine resumes it then.
  virtual Time on_receive(ProcessId process, const Message& message, Time now) = 0;
  // Access to a page whose state in the view does not allow it. When the process is resumed the state must
  // allow it.
  virtual void on_fault(ProcessId process, std::uint64_t page, bool write, Time now);

  // What the machine counted, in a fixed order.
  virtual std::vector<Statistic> statistics() const { return {}; }
};

}  // namespace substrata::workloads
