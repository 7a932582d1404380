// The engine's loop: picks what is next in simulated time, charges it, and lets processes run on.
#include "sources/workloads/engine.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace substrata::workloads {
namespace {

// Unwinds a process that will not run on.
struct Cancelled {};

constexpr std::uint32_t kFinalBarrier = 0xFFFFFFFFU;

// Heaps with the earliest on top.
constexpr auto kLaterReady = [](const auto& a, const auto& b) {
  return a.at != b.at ? a.at > b.at : a.process > b.process;
};
constexpr auto kLaterEvent = [](const auto& a, const auto& b) {
  return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
};

std::string name_of(ProcessId process) { return "process " + std::to_string(process); }

}  // namespace

void Machine::on_fault(ProcessId process, std::uint64_t page, bool, Time) {
  throw std::runtime_error(std::string(name()) + " got a page fault of process " + std::to_string(process) +
                           " at page " + std::to_string(page) + ", but has no pages of its own");
}

// One process with its stack, its record and its place in time.
struct Engine::Actor {
  Process process;
  std::vector<Operation> record;
  std::size_t charged = 0;   // operations of the record already charged
  std::size_t recorded = 0;  // operations in the record
  Time now = 0;
  bool waiting = false;  // the machine or a sender owes it a resume
  bool ended = false;
  std::deque<MessageNumber> mailbox;
  std::unique_ptr<Stack> stack;
};

// ------------------------------------------------------------------------------------------------ Process

void Process::flush() {
  // Never throws: destructors leave marks. A cancelled process runs on, unheard, to its next wait.
  if (!cancelled_) engine_->actors_[id_]->stack->suspend();
  if (cancelled_) cursor_ = engine_->actors_[id_]->record.data();
}

void Process::wait(WaitKind kind, std::uint64_t first, std::uint64_t second) {
  if (!cancelled_) {
    wait_ = kind;
    wait_first_ = first;
    wait_second_ = second;
    engine_->actors_[id_]->stack->suspend();
  }
  if (cancelled_) throw Cancelled{};
}

void Process::give_up(std::string message) {
  engine_->fail(std::move(message));
  cancelled_ = true;
  throw Cancelled{};
}

void Process::fault(std::uint64_t page, bool write) {
  // A machine may answer with less than the write needs (first the data, then the right to write).
  const auto wanted = write ? kPageWritable : kPageReadable;
  for (int attempt = 0; view_.pages[page] < wanted; ++attempt) {
    if (attempt == 8) {
      give_up("the machine resumed " + name_of(id_) + " after a fault at page " + std::to_string(page) +
              " without giving it the page");
    }
    wait(WaitKind::kFault, page, write ? 1 : 0);
  }
}

void Process::send(ProcessId to, std::uint32_t tag, std::span<const std::byte> data) {
  message_.from = id_;
  message_.to = to;
  message_.tag = tag;
  message_.payload.assign(data.begin(), data.end());
  wait(WaitKind::kSend, to, tag);
}

Message Process::receive(ProcessId from, std::uint32_t tag) {
  wait(WaitKind::kReceive, from, tag);
  return std::move(message_);
}

void Process::mismatch(std::uint64_t address) {
  const Memory::Object* object = engine_->memory().object_at(address);
  give_up(name_of(id_) + " read a stale value at byte " +
          std::to_string(object == nullptr ? address : address - object->address) + " of " +
          (object == nullptr ? std::string("the memory") : object->name) +
          ": its copy differs from what was last written there");
}

void Process::length_mismatch(const Message& message, std::size_t wanted) {
  give_up(name_of(id_) + " expected a message of " + std::to_string(wanted) + " bytes from " +
          name_of(message.from) + " with tag " + std::to_string(message.tag) + " and got " +
          std::to_string(message.payload.size()) + " bytes");
}

// ------------------------------------------------------------------------------------------------- Engine

Engine::Engine(Program& program, Machine& machine, Memory& memory, const EngineSettings& settings)
    : program_(program), machine_(machine), memory_(memory), settings_(settings) {
  settings_.run_ahead = std::max<std::size_t>(settings_.run_ahead, 1);
}

Engine::~Engine() {
  for (auto& actor : actors_) {
    if (actor->stack == nullptr || actor->stack->finished()) continue;
    actor->process.cancelled_ = true;  // owned things on its stack are destroyed there
    actor->process.cursor_ = actor->record.data();
    actor->stack->resume();
  }
}

void Engine::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

void Engine::mix(std::uint64_t value) noexcept {
  std::uint64_t h = outcome_.digest ^ value;
  h *= 0x9E3779B97F4A7C15ULL;
  outcome_.digest = h ^ (h >> 29);
}

void Engine::start(void* argument) {
  auto& actor = *static_cast<Actor*>(argument);
  Process& process = actor.process;
  if (process.cancelled_) return;
  try {
    process.engine_->program_.run(process);
    process.barrier(kFinalBarrier);
    process.wait_ = WaitKind::kEnded;
  } catch (const Cancelled&) {
  } catch (const std::exception& error) {
    process.engine_->fail(name_of(process.id_) + " ended with an error: " + error.what());
  } catch (...) {
    process.engine_->fail(name_of(process.id_) + " ended with an exception of an unknown type");
  }
}

void Engine::make_ready(ProcessId process) {
  ready_.push_back({actors_[process]->now, process});
  std::push_heap(ready_.begin(), ready_.end(), kLaterReady);
}

void Engine::resume(ProcessId process, Time at) {
  Actor& actor = *actors_[process];
  if (!actor.waiting) {
    fail("the machine resumed " + name_of(process) + ", which was not waiting");
    return;
  }
  if (actor.process.wait_ == WaitKind::kLock) {
    lock_holders_[static_cast<std::uint32_t>(actor.process.wait_first_)] = process;
  }
  actor.waiting = false;
  actor.process.wait_ = WaitKind::kNothing;
  actor.now = std::max(actor.now, at);
  make_ready(process);
}

void Engine::schedule(Time at, EventSink& sink, std::uint64_t argument) {
  events_.push_back({at, next_sequence_++, &sink, argument});
  std::push_heap(events_.begin(), events_.end(), kLaterEvent);
}

void Engine::deliver(MessageNumber message, Time at) {
  events_.push_back({at, next_sequence_++, nullptr, message});
  std::push_heap(events_.begin(), events_.end(), kLaterEvent);
}

void Engine::hand_over(MessageNumber number, Time now) {
  Message& message = messages_.at(number);
  message.delivered = now;
  Actor& actor = *actors_[message.to];
  actor.mailbox.push_back(number);
  if (actor.waiting && actor.process.wait_ == WaitKind::kReceive) match(actor, now);
}

bool Engine::match(Actor& actor, Time now) {
  Process& process = actor.process;
  for (auto it = actor.mailbox.begin(); it != actor.mailbox.end(); ++it) {
    const auto found = messages_.find(*it);
    Message& message = found->second;
    if (message.tag != process.wait_second_ ||
        (process.wait_first_ != kAnyProcess && message.from != process.wait_first_)) {
      continue;
    }
    const Time done = machine_.on_receive(process.id_, message, std::max(now, actor.now));
    process.message_ = std::move(message);
    messages_.erase(found);
    actor.mailbox.erase(it);
    resume(process.id_, done);
    return true;
  }
  return false;
}

void Engine::refill(Actor& actor) {
  actor.process.cursor_ = actor.record.data();
  actor.stack->resume();
  actor.charged = 0;
  actor.recorded = static_cast<std::size_t>(actor.process.cursor_ - actor.record.data());
  count(actor.record.data(), actor.process.cursor_);
  outcome_.compute_cycles += std::exchange(actor.process.computed_, 0);
  if (actor.stack->finished() && actor.process.wait_ != WaitKind::kEnded) {
    fail(name_of(actor.process.id_) + " was ended before its time");
  }
}

// One pass without branches: programs mix the kinds in patterns that no predictor learns. A counter of ten
// bits for each kind, all in one word, so that an operation costs one addition.
void Engine::count(const Operation* begin, const Operation* end) {
  constexpr unsigned kBits = 10;
  constexpr std::uint64_t kLane = (std::uint64_t{1} << kBits) - 1;
  constexpr std::ptrdiff_t kMost = kLane;  // operations before a counter may overflow
  static constexpr std::uint64_t kOne[] = {1,
                                           std::uint64_t{1} << kBits,
                                           std::uint64_t{1} << 2 * kBits,
                                           std::uint64_t{1} << 3 * kBits,
                                           std::uint64_t{1} << 4 * kBits,
                                           std::uint64_t{1} << 5 * kBits};
  const auto of = [](std::uint64_t lanes, OperationKind kind) {
    return (lanes >> (static_cast<unsigned>(kind) * kBits)) & kLane;
  };
  while (begin != end) {
    const Operation* const stop = begin + std::min(kMost, end - begin);
    std::uint64_t lanes = 0;
    for (; begin != stop; ++begin) lanes += kOne[static_cast<std::size_t>(begin->kind())];
    outcome_.reads += of(lanes, OperationKind::kRead);
    outcome_.writes += of(lanes, OperationKind::kWrite);
    outcome_.marks += of(lanes, OperationKind::kEnter) + of(lanes, OperationKind::kLeave) +
                      of(lanes, OperationKind::kPhase);
  }
}

void Engine::charge(Actor& actor, Time horizon) {
  const std::span<const Operation> rest(actor.record.data() + actor.charged, actor.recorded - actor.charged);
  const Time before = actor.now;
  const std::size_t done = machine_.advance(actor.process.id_, rest, actor.now, horizon);
  const bool progressed = done != 0 || (machine_.works_in_steps() && actor.now != before);
  if (!progressed || done > rest.size() || actor.now < before) {
    fail(std::string(machine_.name()) + " charged " + std::to_string(done) + " of " +
         std::to_string(rest.size()) + " operations");
    return;
  }
  if (settings_.digest) {
    mix(actor.process.id_);
    mix(before);
    for (std::size_t i = 0; i < done; ++i) mix(rest[i].bits());
  }
  actor.charged += done;
}

void Engine::dispatch(Actor& actor) {
  Process& process = actor.process;
  const Time now = actor.now;
  const auto number = static_cast<std::uint32_t>(process.wait_first_);
  if (settings_.digest) {
    mix(process.id_ | (static_cast<std::uint64_t>(process.wait_) << 32));
    mix(now);
    mix(process.wait_first_);
    mix(process.wait_second_);
  }
  actor.waiting = true;
  switch (process.wait_) {
    case WaitKind::kNothing:
    case WaitKind::kEnded:
      break;
    case WaitKind::kLock: {
      ++outcome_.locks;
      const auto holder = lock_holders_.find(number);
      if (holder != lock_holders_.end() && holder->second == process.id_) {
        fail(name_of(process.id_) + " asks for lock " + std::to_string(number) + ", which it holds already");
        return;
      }
      machine_.on_lock(process.id_, number, now);
      break;
    }
    case WaitKind::kUnlock: {
      const auto holder = lock_holders_.find(number);
      if (holder == lock_holders_.end() || holder->second != process.id_) {
        fail(name_of(process.id_) + " gives back lock " + std::to_string(number) +
             ", which it does not hold");
        return;
      }
      lock_holders_.erase(holder);
      machine_.on_unlock(process.id_, number, now);
      break;
    }
    case WaitKind::kBarrier:
      outcome_.barriers += number == kFinalBarrier ? 0 : 1;
      machine_.on_barrier(process.id_, number, now);
      break;
    case WaitKind::kSend: {
      if (process.wait_first_ >= settings_.processes) {
        fail(name_of(process.id_) + " sends to process " + std::to_string(process.wait_first_) +
             ", but there are only " + std::to_string(settings_.processes));
        return;
      }
      ++outcome_.messages;
      outcome_.message_bytes += process.message_.payload.size();
      process.message_.sent = now;
      const MessageNumber message = next_message_++;
      messages_.emplace(message, std::move(process.message_));
      machine_.on_send(process.id_, message, now);
      break;
    }
    case WaitKind::kReceive:
      match(actor, now);
      break;
    case WaitKind::kFault:
      ++outcome_.faults;
      machine_.on_fault(process.id_, process.wait_first_, process.wait_second_ != 0, now);
      break;
  }
}

std::string Engine::describe_wait(const Actor& actor) const {
  const Process& process = actor.process;
  const std::string who = name_of(process.id_);
  const std::string number = std::to_string(process.wait_first_);
  switch (process.wait_) {
    case WaitKind::kLock: {
      const auto holder = lock_holders_.find(static_cast<std::uint32_t>(process.wait_first_));
      return who + " waits for lock " + number +
             (holder == lock_holders_.end() ? ", held by no process"
                                            : ", held by " + name_of(holder->second));
    }
    case WaitKind::kBarrier: {
      std::size_t arrived = 0;
      for (const auto& other : actors_) {
        arrived +=
            other->process.wait_ == WaitKind::kBarrier && other->process.wait_first_ == process.wait_first_;
      }
      return who + " waits at " +
             (process.wait_first_ == kFinalBarrier ? std::string("the end of the program")
                                                   : "barrier " + number) +
             " (" + std::to_string(arrived) + " of " + std::to_string(actors_.size()) + " are there)";
    }
    case WaitKind::kReceive:
      return who + " waits for a message from " +
             (process.wait_first_ == kAnyProcess ? std::string("any process") : "process " + number) +
             " with tag " + std::to_string(process.wait_second_);
    case WaitKind::kFault:
      return who + " waits for page " + number;
    case WaitKind::kSend:
      return who + " waits to send to process " + number;
    case WaitKind::kUnlock:
      return who + " waits to give back lock " + number;
    case WaitKind::kNothing:
    case WaitKind::kEnded:
      break;
  }
  return who + " waits for nothing";
}

std::string Engine::describe_deadlock() const {
  std::string text = "deadlock: ";
  std::size_t listed = 0;
  std::size_t waiting = 0;
  for (const auto& actor : actors_) waiting += actor->waiting ? 1 : 0;
  for (const auto& actor : actors_) {
    if (!actor->waiting) continue;
    if (listed == 8 && waiting > 9) {
      text += "; and " + std::to_string(waiting - listed) + " more";
      break;
    }
    if (listed++ != 0) text += "; ";
    text += describe_wait(*actor);
  }
  return text;
}

Outcome Engine::run() {
  std::size_t ended = 0;
  try {
    machine_.begin(*this);
    for (ProcessId id = 0; id < settings_.processes; ++id) {
      auto actor = std::make_unique<Actor>();
      actor->record.resize(settings_.run_ahead);
      actor->process.engine_ = this;
      actor->process.id_ = id;
      actor->process.count_ = settings_.processes;
      const ProcessView view = machine_.view(id);
      actor->process.view_ = view;
      actor->process.guarded_ =
          view.pages != nullptr || view.stored_values != nullptr || view.oracle != nullptr;
      actor->process.cursor_ = actor->record.data();
      actor->process.limit_ = actor->record.data() + actor->record.size();
      actor->stack = std::make_unique<Stack>(settings_.stack_bytes, &Engine::start, actor.get());
      actors_.push_back(std::move(actor));
      make_ready(id);
    }
    while (error_.empty()) {
      const Time next_event = events_.empty() ? kNever : events_.front().at;
      if (next_event != kNever && (ready_.empty() || next_event <= ready_.front().at)) {
        std::pop_heap(events_.begin(), events_.end(), kLaterEvent);
        const Event event = events_.back();
        events_.pop_back();
        if (settings_.digest) {
          mix(event.at);
          mix(event.argument);
        }
        if (event.sink == nullptr) {
          hand_over(event.argument, event.at);
        } else {
          event.sink->on_event(event.at, event.argument);
        }
        continue;
      }
      if (ready_.empty()) break;
      std::pop_heap(ready_.begin(), ready_.end(), kLaterReady);
      Actor& actor = *actors_[ready_.back().process];
      ready_.pop_back();
      Time horizon = std::min(next_event, ready_.empty() ? kNever : ready_.front().at);
      horizon = horizon > kNever - machine_.quantum() ? kNever : horizon + machine_.quantum();
      if (actor.charged == actor.recorded && actor.process.wait_ == WaitKind::kNothing) refill(actor);
      if (actor.charged < actor.recorded) charge(actor, horizon);
      if (actor.charged == actor.recorded && actor.process.wait_ == WaitKind::kEnded) {
        actor.ended = true;
        ++ended;
        outcome_.time = std::max(outcome_.time, actor.now);
      } else if (actor.charged == actor.recorded && actor.process.wait_ != WaitKind::kNothing) {
        // A wait is handed to the machine at its own time, not before others that come first.
        if (actor.now <= horizon || ready_.empty()) {
          dispatch(actor);
        } else {
          make_ready(actor.process.id_);
        }
      } else {
        make_ready(actor.process.id_);
      }
    }
    if (error_.empty() && ended < actors_.size()) fail(describe_deadlock());
    if (error_.empty()) fail(machine_.end());
  } catch (const std::exception& error) {
    fail(error.what());
  }
  outcome_.completed = error_.empty();
  outcome_.error = error_;
  for (const auto& actor : actors_) outcome_.process_times.push_back(actor->now);
  return outcome_;
}

}  // namespace substrata::workloads
