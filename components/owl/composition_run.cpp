// Runs compositions: a module whose sub-modules feed each other.
#include <substrata/result.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/glob.hpp"
#include "owl/actions.hpp"
#include "owl/columns.hpp"
#include "owl/composition_parts.hpp"
#include "owl/table_stage.hpp"

namespace substrata::owl {
namespace {

// Calls f(expression) for all expressions of a stage.
template <typename F>
void for_each_expression(const Stage& stage, const F& f) {
  f(stage.condition);
  for (const auto& [field, value] : stage.assignments) f(value);
  for (const KeyColumn& each : stage.keys) f(each.value);
  for (const ValueColumn& each : stage.values) f(each.value);
}

unsigned deepest(const Composition& composition) {
  unsigned depth = 1;
  for (const Stage& stage : composition.stages)
    for_each_expression(stage, [&](const Expression& e) { depth = std::max(depth, e.depth()); });
  return depth;
}

// Does a stage depend on what another one was given before?
bool is_ordered(const Composition& composition) {
  return !composition.states.empty() ||
         std::any_of(composition.stages.begin(), composition.stages.end(),
                     [](const Stage& s) { return s.kind == StageKind::kGate; });
}

class Composed {
 public:
  Composed(const Composition& composition, const uint64_t* registers, const substrata_owl_services& services)
      : composition_(composition),
        services_(services),
        columns_(deepest(composition)),
        parts_(composition.stages.size()),
        accepted_(composition.inputs.size()),
        ordered_(is_ordered(composition)) {
    for (const State& each : composition.states) {
      state_tables_.push_back(std::make_unique<Table>(each.keys, 1, kStateRows));
      states_.push_back(state_tables_.back().get());
    }
    around_ = {registers_, states_.data(), nullptr, &objects_};
    configure(registers);
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      parts_[i].whole = this;
      parts_[i].stage = i;
      parts_[i].gate = composition.stages[i].on ? 1 : 0;
    }
  }
  ~Composed() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].instance != nullptr) composition_.stages[i].module->destroy(parts_[i].instance);
    }
  }
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;
  // Null: done.
  const char* build() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      Part& part = parts_[i];
      if (stage.kind == StageKind::kMap || stage.module != nullptr) part.buffer.resize(kColumn);
      if (stage.kind == StageKind::kPackets) part.buffer.resize(1);
      if (stage.kind == StageKind::kTable) part.table = std::make_unique<TableStage>(stage);
      if (stage.module == nullptr) continue;
      uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      fill_arguments(stage, registers_, registers);
      const substrata_owl_services services{
          sizeof services, SUBSTRATA_OWL_MODULE_ABI, &part, emit, emit_from, forward, signal};
      if (const char* why = stage.module->create(stage.module, registers, &services, &part.instance))
        return why;
    }
    return nullptr;
  }
  void configure(const uint64_t* registers) noexcept {
    std::copy_n(registers, composition_.registers.size(), registers_);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      const bool changes = std::any_of(stage.arguments.begin(), stage.arguments.end(),
                                       [](const Argument& a) { return a.own_register != kNoRegister; });
      if (parts_[i].instance == nullptr || !changes || stage.module->configure == nullptr) continue;
      uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      fill_arguments(stage, registers_, values);
      stage.module->configure(parts_[i].instance, values);
    }
  }
  void observe(const Transaction* batch, size_t count) noexcept {
    objects_.forget();
    // With states and gates each transaction goes through all stages before the next one begins.
    const size_t step = ordered_ ? 1 : kColumn;
    for (size_t at = 0; at < count; at += step) {
      for (size_t i = 0; i < composition_.inputs.size(); ++i) {
        if (accepts(i, batch->probe))
          feed(composition_.inputs[i].stage, {batch + at, nullptr, std::min(count - at, step)});
      }
    }
  }
  // In the order of the chains: what a sub-module hands on while it is written back reaches those behind it.
  void write_back() noexcept {
    for (const Input& each : composition_.inputs) write_back(each.stage);
  }
  void read(uint64_t* metrics) const noexcept {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      uint64_t* const out = metrics + stage.first_metric;
      if (stage.module != nullptr) {
        stage.module->read(parts_[i].instance, out);
      } else {
        out[0] = parts_[i].seen;
        out[1] = parts_[i].table != nullptr ? parts_[i].table->written() : parts_[i].passed;
      }
    }
  }

 private:
  struct Part {
    Composed* whole = nullptr;
    uint32_t stage = 0;
    void* instance = nullptr;
    uint64_t seen = 0;
    uint64_t passed = 0;
    uint64_t gate = 0;  // of a trigger: how many more pass; of a gate: does it let pass
    std::vector<Transaction> buffer;
    uint32_t selected[kColumn] = {};
    std::unique_ptr<TableStage> table;
  };
  struct Accepted {
    uint32_t probe = ~0u;
    bool accepts = true;
  };
  static void emit(void* part, const void* packet, uint32_t bytes) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->emit_from_stage(self.stage, packet, bytes);
  }
  static void emit_from(void* part, const void* packet, uint32_t bytes, uint32_t) {
    emit(part, packet, bytes);
  }
  static void forward(void* part, const Transaction* transactions, size_t count) {
    const Part& self = *static_cast<Part*>(part);
    for (size_t i = 0; i < count; i += kColumn)
      self.whole->hand_on(self.stage, {transactions + i, nullptr, std::min(count - i, kColumn)});
  }
  static void signal(void* part, const Transaction* cause, uint32_t reason) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->services_.signal(self.whole->services_.capsule, cause, reason);
  }

  bool accepts(size_t input, uint32_t probe) noexcept {
    const std::string& pattern = composition_.inputs[input].pattern;
    Accepted& known = accepted_[input];
    if (pattern.empty() || known.probe == probe) return known.accepts;
    auto info = client::sized<substrata_probe_info>();
    known = {probe, substrata_probe_at(probe, &info) == 0 && any_glob(pattern, info.name)};
    return known.accepts;
  }
  // A packet of a sub-module: to those that take packets as transactions, else into the ring.
  void emit_from_stage(uint32_t from, const void* packet, uint32_t bytes) noexcept {
    const Stage& stage = composition_.stages[from];
    bool taken = false;
    for (const uint32_t next : stage.next) {
      if (composition_.stages[next].kind != StageKind::kPackets) continue;
      taken = true;
      take_packet(next, static_cast<const unsigned char*>(packet), bytes);
    }
    if (!taken || stage.to_ring) services_.emit_from(services_.capsule, packet, bytes, from);
  }
  void take_packet(uint32_t at, const unsigned char* packet, uint32_t bytes) noexcept {
    const Stage& stage = composition_.stages[at];
    Part& part = parts_[at];
    ++part.seen;
    for (const auto& [field, value] : stage.assignments) {
      for (const Instruction& each : value.code)
        if (each.op == Op::kPacket && static_cast<uint32_t>(each.operand) + (each.operand >> 32) > bytes)
          return;
    }
    ++part.passed;
    const Transaction nothing{};
    Transaction made{};
    Surroundings around = around_;
    around.packet = packet;
    for (const auto& [field, value] : stage.assignments)
      set(made, field, *columns_.evaluate(value, {&nothing, nullptr, 1}, around));
    hand_on(at, {&made, nullptr, 1});
  }
  void hand_on(uint32_t from, const View& view) noexcept {
    const Stage& stage = composition_.stages[from];
    for (const uint32_t next : stage.next) feed(next, view);
    if (!stage.to_ring && (stage.is_quiet || !stage.next.empty())) return;
    for (size_t i = 0; i < view.count; ++i)
      services_.emit_from(services_.capsule, &view[i], sizeof(Transaction), from);
  }
  void feed(uint32_t to, const View& view) noexcept {
    if (view.count == 0) return;
    const Stage& stage = composition_.stages[to];
    Part& part = parts_[to];
    if (stage.kind == StageKind::kModule) {
      feed_module(stage, part, view);
      return;
    }
    part.seen += view.count;
    switch (stage.kind) {
      case StageKind::kModule:
      case StageKind::kPackets:
        return;
      case StageKind::kFilter:
        filter(stage, part, view);
        return;
      case StageKind::kTrigger:
        trigger(stage, part, view);
        return;
      case StageKind::kMap:
        map(stage, part, view);
        return;
      case StageKind::kTable:
        part.table->add(columns_, view, around_,
                        [&](const uint64_t* row, uint32_t bytes) { emit_from_stage(to, row, bytes); });
        return;
      case StageKind::kGate:
        if (part.gate == 0) return;
        break;
      case StageKind::kArm:
        parts_[stage.other].gate = stage.on ? 1 : 0;
        break;
      default:
        act(stage, view);
        break;
    }
    part.passed += view.count;
    hand_on(to, view);
  }
  // A module wants its transactions in a row.
  static void feed_module(const Stage& stage, Part& part, const View& view) noexcept {
    if (view.selected == nullptr || view.selected[view.count - 1] - view.selected[0] + 1 == view.count) {
      stage.module->observe(part.instance, &view[0], view.count);
      return;
    }
    for (size_t i = 0; i < view.count; ++i) part.buffer[i] = view[i];
    stage.module->observe(part.instance, part.buffer.data(), view.count);
  }
  void filter(const Stage& stage, Part& part, const View& view) noexcept {
    const uint64_t* const passes = columns_.evaluate(stage.condition, view, around_);
    size_t count = 0;
    for (size_t i = 0; i < view.count; ++i) {
      part.selected[count] = view.selected != nullptr ? view.selected[i] : static_cast<uint32_t>(i);
      count += passes[i] != 0;
    }
    hand_selected(part, view, count);
  }
  void trigger(const Stage& stage, Part& part, const View& view) noexcept {
    const uint64_t* const opens = columns_.evaluate(stage.condition, view, around_);
    const uint64_t after = value_of(stage.after, registers_);
    size_t count = 0;
    for (size_t i = 0; i < view.count; ++i) {
      if (opens[i] != 0) part.gate = after == 0 ? ~uint64_t{0} : after;
      if (part.gate == 0) continue;
      if (part.gate != ~uint64_t{0}) --part.gate;
      part.selected[count++] = view.selected != nullptr ? view.selected[i] : static_cast<uint32_t>(i);
    }
    hand_selected(part, view, count);
  }
  void hand_selected(Part& part, const View& view, size_t count) noexcept {
    part.passed += count;
    if (count != 0) hand_on(part.stage, {view.batch, part.selected, count});
  }
  void map(const Stage& stage, Part& part, const View& view) noexcept {
    for (size_t i = 0; i < view.count; ++i) part.buffer[i] = view[i];
    // All from the transaction as it came.
    for (const auto& [field, value] : stage.assignments) {
      const uint64_t* const values = columns_.evaluate(value, view, around_);
      for (size_t i = 0; i < view.count; ++i) set(part.buffer[i], field, values[i]);
    }
    part.passed += view.count;
    hand_on(part.stage, {part.buffer.data(), nullptr, view.count});
  }
  void act(const Stage& stage, const View& view) noexcept {
    if (stage.kind == StageKind::kSet) {
      set_state(stage, view);
      return;
    }
    if (stage.kind == StageKind::kSignal) {
      const uint64_t* const reasons = columns_.evaluate(stage.condition, view, around_);
      for (size_t i = 0; i < view.count; ++i)
        services_.signal(services_.capsule, &view[i], static_cast<uint32_t>(reasons[i]));
      return;
    }
    for (size_t i = 0; i < view.count; ++i) {
      if (stage.kind == StageKind::kMark)
        write_mark(stage.text);
      else
        send_signal(static_cast<int>(stage.other), stage.on);
    }
  }
  void set_state(const Stage& stage, const View& view) noexcept {
    for (size_t i = 0; i < view.count; ++i) {
      const View one{&view[i], nullptr, 1};
      uint64_t key[kMostKeys] = {};
      for (size_t k = 0; k < stage.keys.size(); ++k)
        key[k] = *columns_.evaluate(stage.keys[k].value, one, around_);
      const uint64_t value = *columns_.evaluate(stage.condition, one, around_);
      if (uint64_t* const row = state_tables_[stage.other]->row(key)) *row = value;
    }
  }
  void write_back(uint32_t at) noexcept {
    const Stage& stage = composition_.stages[at];
    if (stage.module != nullptr && stage.module->write_back != nullptr) {
      stage.module->write_back(parts_[at].instance);
    }
    if (parts_[at].table != nullptr)
      parts_[at].table->write_rows(
          [&](const uint64_t* row, uint32_t bytes) { emit_from_stage(at, row, bytes); });
    for (const uint32_t next : stage.next) write_back(next);
  }

  const Composition& composition_;
  const substrata_owl_services services_;
  uint64_t registers_[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  Columns columns_;
  ObjectNames objects_;
  std::vector<std::unique_ptr<Table>> state_tables_;
  std::vector<const Table*> states_;
  Surroundings around_;
  std::vector<Part> parts_;
  std::vector<Accepted> accepted_;
  const bool ordered_;
};

const Composition& composition_of(const Module* module) noexcept {
  return *static_cast<const Composition*>(module->context);
}

void cost(const Module* self, const uint64_t* registers, Cost* out) noexcept {
  *out = {};
  for (const Stage& stage : composition_of(self).stages) {
    if (stage.module != nullptr) {
      uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      fill_arguments(stage, registers, values);
      Cost part{};
      stage.module->cost(stage.module, values, &part);
      out->counters += part.counters;
      out->table_bits += part.table_bits;
      out->comparators += part.comparators;
      continue;
    }
    // Two counters, a latch a value, and a comparator or adder an operation; a table's rows.
    out->counters += 2;
    for_each_expression(stage, [out](const Expression& e) {
      for (const Instruction& each : e.code)
        (each.op <= Op::kRegister ? out->table_bits : out->comparators) += each.op <= Op::kRegister ? 64 : 1;
    });
    out->table_bits += uint64_t{64} * stage.rows * (stage.keys.size() + stage.words);
  }
}

uint32_t longest_packet(const Module* self, const uint64_t* registers) noexcept {
  uint32_t longest = sizeof(Transaction);
  for (const Stage& stage : composition_of(self).stages) {
    longest = std::max(longest, static_cast<uint32_t>(8 * (stage.keys.size() + stage.words + 1)));
    if (stage.module == nullptr) continue;
    uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
    fill_arguments(stage, registers, values);
    longest = std::max(longest, longest_packet_of(*stage.module, values));
  }
  return longest;
}

uint32_t forwards(const Module*, const uint64_t*) noexcept { return 0; }

const char* create(const Module* self, const uint64_t* registers, const substrata_owl_services* services,
                   void** instance) noexcept {
  try {
    auto made = std::make_unique<Composed>(composition_of(self), registers, *services);
    if (const char* why = made->build()) return why;
    *instance = made.release();
    return nullptr;
  } catch (...) {
    return "no memory for its sub-modules";
  }
}

}  // namespace

void make_runnable(Composition& composition) noexcept {
  Module& module = composition.module;
  module.cost = cost;
  module.create = create;
  module.longest_packet = longest_packet;
  module.forwards = forwards;
  module.destroy = ModuleFunctions<Composed>::destroy;
  module.observe = ModuleFunctions<Composed>::observe;
  module.write_back = ModuleFunctions<Composed>::write_back;
  module.read = ModuleFunctions<Composed>::read;
  module.configure = ModuleFunctions<Composed>::configure;
  module.context = &composition;
}

}  // namespace substrata::owl
