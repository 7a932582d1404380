// Hands out the cards, and implements the C interface to them.
#include "numachine/rack.hpp"

#include <substrata/numachine.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "numachine/live.hpp"

namespace substrata::numachine {

Rack& Rack::instance() {
  static Rack* const rack = new Rack;
  return *rack;
}

Rack::Use::Use(Rack& rack) : rack_(rack), entered_(rack.holder_.load() != std::this_thread::get_id()) {
  if (!entered_) return;
  rack_.waiting_.fetch_add(1);
  rack_.mutex_.lock();
  rack_.waiting_.fetch_sub(1);
  rack_.holder_.store(std::this_thread::get_id());
}

Rack::Use::~Use() {
  if (!entered_) return;
  rack_.holder_.store(std::thread::id());
  rack_.mutex_.unlock();
}

void Rack::step_aside() {
  holder_.store(std::thread::id());
  mutex_.unlock();
  while (waiting_.load() != 0) std::this_thread::yield();
  mutex_.lock();
  holder_.store(std::this_thread::get_id());
}

ProcessorCard& Rack::processor(std::uint32_t cpu) {
  std::unique_ptr<Seat>& seat = processors_[cpu];
  if (seat == nullptr) {
    seat = std::make_unique<Seat>();
    seat->cpu = cpu;
    seat->card.on_interrupt({[](void* owner, std::uint8_t pending) {
                               Rack& rack = instance();
                               if (rack.interrupt_ != nullptr)
                                 rack.interrupt_(rack.interrupt_owner_, static_cast<Seat*>(owner)->cpu,
                                                 pending);
                             },
                             seat.get()});
  }
  return seat->card;
}

const counting::Counter& Rack::counter(std::uint32_t cpu, unsigned number) {
  const Use use(*this);
  return processor(cpu).counter(number);
}

void Rack::reset() {
  for (const auto& seat : processors_) {
    if (seat != nullptr) seat->card.power_up();
  }
  for (MemoryCard& card : memories_) card.reset(cycle_);
  const QueueMonitor fresh(cycle_);
  queues_.fill({fresh, fresh, fresh});
}

namespace {

int no_processor(std::uint32_t cpu) {
  return fail(Code::kInvalid, "NUMAchine's processors are 0 to %u, %u was asked for", kMostProcessors - 1,
              cpu);
}
int no_station(std::uint32_t station) {
  return fail(Code::kInvalid, "NUMAchine's stations are 0 to %u, %u was asked for", kMostStations - 1,
              station);
}

int code_of(Answer answer, std::uint32_t address) {
  switch (answer) {
    case Answer::kDone:
      return 0;
    case Answer::kReserved:
      return fail(Code::kInvalid, "address 0x%x of the processor card's monitor is reserved", address);
    case Answer::kReadOnly:
      return fail(Code::kInvalid, "address 0x%x of the processor card's monitor can only be read", address);
    case Answer::kMisaligned:
      return fail(Code::kInvalid, "a doubleword has an even address, 0x%x was asked for", address);
  }
  return static_cast<int>(Code::kInvalid);
}

// The card of a processor, brought up to now.
template <typename Body>
int with_card(std::uint32_t cpu, const Body& body) noexcept {
  return guarded([&] {
    if (cpu >= kMostProcessors) return no_processor(cpu);
    drain_live();  // a followed program's registers are accessed in order with its memory
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    ProcessorCard& card = rack.processor(cpu);
    card.at(rack.cycle());
    return body(card);
  });
}

bool is_inside_sram(std::uint32_t first, std::uint32_t count) {
  return first <= kSramWords && count <= kSramWords - first;
}

substrata_numachine_fifo fifo_of(const FifoDepth& fifo) {
  return {.depth = fifo.depth(),
          .maximum = fifo.maximum(),
          .by_cycle = fifo.accumulated_by_cycle(),
          .cycles = fifo.cycles(),
          .by_change = fifo.accumulated_by_change(),
          .changes = fifo.changes()};
}

substrata_numachine_queue queue_of(const QueueMonitor& queue, std::int32_t phase, std::uint64_t cycle) {
  const auto number = static_cast<std::uint16_t>(phase);
  const QueueMonitor::Times waits = phase < 0 ? queue.waits() : queue.waits(number);
  const QueueMonitor::Times services = phase < 0 ? queue.services() : queue.services(number);
  return {.transactions = waits.count,
          .wait_cycles = waits.total,
          .longest_wait = waits.maximum,
          .service_cycles = services.total,
          .longest_service = services.maximum,
          .longest_queue = queue.longest(),
          .cycles = queue.cycles(cycle)};
}

}  // namespace
}  // namespace substrata::numachine

using namespace substrata;
using namespace substrata::numachine;

extern "C" {

int substrata_numachine_read(uint32_t cpu, uint32_t address, uint32_t* value) {
  if (value == nullptr) return fail(Code::kInvalid, "no place for the word that is to be read");
  return with_card(cpu, [&](ProcessorCard& card) { return code_of(card.read(address, value), address); });
}
int substrata_numachine_write(uint32_t cpu, uint32_t address, uint32_t value) {
  return with_card(cpu, [&](ProcessorCard& card) { return code_of(card.write(address, value), address); });
}
int substrata_numachine_read_doubleword(uint32_t cpu, uint32_t address, uint64_t* value) {
  if (value == nullptr) return fail(Code::kInvalid, "no place for the doubleword that is to be read");
  return with_card(cpu, [&](ProcessorCard& card) {
    std::uint64_t both = 0;
    const int code = code_of(card.read_doubleword(address, &both), address);
    if (code == 0) *value = both;
    return code;
  });
}
int substrata_numachine_write_doubleword(uint32_t cpu, uint32_t address, uint64_t value) {
  return with_card(
      cpu, [&](ProcessorCard& card) { return code_of(card.write_doubleword(address, value), address); });
}

int substrata_numachine_broadcast(uint32_t cpus, uint32_t address, uint32_t value) {
  return guarded([&] {
    if (cpus == 0 || cpus > kMostProcessors) return no_processor(cpus);
    drain_live();
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
      ProcessorCard& card = rack.processor(cpu);
      card.at(rack.cycle());
      // All cards answer alike, so the first refusal is the only one.
      if (const int code = code_of(card.write(address, value), address); code != 0) return code;
    }
    return 0;
  });
}

int substrata_numachine_read_sram(uint32_t cpu, uint32_t first, uint32_t count, uint32_t* words) {
  if (!is_inside_sram(first, count) || (words == nullptr && count != 0))
    return fail(Code::kInvalid, "the SRAM has %u words; %u from %u on were asked for", kSramWords, count,
                first);
  return with_card(cpu, [&](ProcessorCard& card) {
    std::copy_n(card.sram().begin() + first, count, words);
    return 0;
  });
}
int substrata_numachine_fill_sram(uint32_t cpu, uint32_t first, uint32_t count, uint32_t value) {
  if (!is_inside_sram(first, count))
    return fail(Code::kInvalid, "the SRAM has %u words; %u from %u on were asked for", kSramWords, count,
                first);
  return with_card(cpu, [&](ProcessorCard& card) {
    for (std::uint32_t word = first; word < first + count; ++word) {
      if (const int code = code_of(card.write(kSram + word, value), word); code != 0) return code;
    }
    return 0;
  });
}

int substrata_numachine_bucket(uint32_t compact, uint32_t* first, uint32_t* last) {
  if (compact > 127 || first == nullptr || last == nullptr)
    return fail(Code::kInvalid, "the compact latency timer's values are 0 to 127, %u was asked for", compact);
  const LatencyBucket bucket = latency_bucket(static_cast<std::uint8_t>(compact));
  *first = bucket.first;
  *last = bucket.last;
  return 0;
}

int substrata_numachine_configure(uint32_t cpu, const char* text) {
  return with_card(cpu, [&](ProcessorCard& card) {
    Circuit circuit;
    std::string error;
    if (text != nullptr && !Circuit::compile(text, &circuit, error))
      return fail(Code::kInvalid, "the counter circuit cannot be read: %s", error.c_str());
    card.configure(std::move(circuit));
    return 0;
  });
}

int substrata_numachine_reset(void) {
  return guarded([] {
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    rack.reset();
    return 0;
  });
}

int substrata_numachine_on_interrupt(substrata_numachine_interrupt call, void* owner) {
  return guarded([&] {
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    rack.on_interrupt(call, owner);
    return 0;
  });
}

int substrata_numachine_on_miss(substrata_numachine_trigger trigger, substrata_numachine_handler handler,
                                void* owner) {
  return guarded([&] {
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    rack.informer() = {trigger, handler, owner};
    return 0;
  });
}

int substrata_numachine_fifos(uint32_t station, struct substrata_numachine_fifo fifos[4]) {
  if (station >= kMostStations) return no_station(station);
  return guarded([&] {
    drain_live();
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    MemoryCard& card = rack.memory(station);
    FifoDepth* const all[4] = {&card.incoming.transactions, &card.incoming.packets,
                               &card.outgoing.transactions, &card.outgoing.packets};
    for (unsigned i = 0; i < 4; ++i) {
      all[i]->until(rack.cycle());
      fifos[i] = fifo_of(*all[i]);
    }
    return 0;
  });
}

int substrata_numachine_queues(uint32_t station, int32_t phase, struct substrata_numachine_queue queues[4]) {
  if (station >= kMostStations) return no_station(station);
  if (phase < -1 || phase > kTravellingPhase)
    return fail(Code::kInvalid, "phases 0 to %u travel with transactions, %d was asked for; -1: all",
                kTravellingPhase, phase);
  if (queues == nullptr) return fail(Code::kInvalid, "no place for the queues that are to be read");
  return guarded([&] {
    drain_live();
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    const StationQueues& own = rack.queues(station);
    const QueueMonitor* const all[4] = {&rack.memory(station).queue, &own.network_cache, &own.bus, &own.link};
    for (unsigned i = 0; i < 4; ++i) queues[i] = queue_of(*all[i], phase, rack.cycle());
    return 0;
  });
}

int substrata_numachine_state_hits(uint32_t station, uint64_t table[4][4]) {
  if (station >= kMostStations) return no_station(station);
  return guarded([&] {
    drain_live();
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    for (unsigned state = 0; state < 4; ++state) {
      for (unsigned type = 0; type < 4; ++type) {
        table[state][type] =
            rack.memory(station).hits(static_cast<BlockState>(state), static_cast<RequestType>(type));
      }
    }
    return 0;
  });
}

int substrata_numachine_pages(uint32_t station, struct substrata_numachine_page* pages, uint32_t* count) {
  if (station >= kMostStations) return no_station(station);
  if (count == nullptr || (pages == nullptr && *count != 0))
    return fail(Code::kInvalid, "no place for the pages that are to be read");
  return guarded([&] {
    drain_live();
    Rack& rack = Rack::instance();
    const Rack::Use use(rack);
    const MemoryCard& card = rack.memory(station);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> order;  // use, page
    for (const auto& [page, use_of] : card.pages()) {
      std::uint64_t sum = 0;
      for (const std::uint32_t one : use_of) sum += one;
      order.emplace_back(sum, page);
    }
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; i < order.size() && i < *count; ++i) {
      substrata_numachine_page& out = pages[i];
      out = {};
      out.page = order[i].second;
      std::copy_n(card.pages().at(out.page).begin(), kMostStations, out.use);
      out.hint = card.migration_hint(out.page, station);
    }
    *count = static_cast<std::uint32_t>(order.size());
    return 0;
  });
}
}
