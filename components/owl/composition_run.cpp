// Runs compositions: a module whose sub-modules feed each other.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "composition_parts.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMapBatch = 64;

class Composed {
 public:
  Composed(const Composition& composition, const uint64_t* registers, const substrata_owl_services& services)
      : composition_(composition), services_(services), parts_(composition.stages.size()) {
    configure(registers);
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      parts_[i].whole = this;
      parts_[i].stage = i;
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
      if (stage.kind == StageKind::kMap) part.buffer.resize(kMapBatch);
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
    for (const uint32_t stage : composition_.first) feed(stage, batch, count);
  }
  // In the order of the chains: what a sub-module hands on while it is written back reaches those behind it.
  void write_back() noexcept {
    for (const uint32_t stage : composition_.first) write_back(stage);
  }
  void read(uint64_t* metrics) const noexcept {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      uint64_t* const out = metrics + stage.first_metric;
      if (stage.module != nullptr) {
        stage.module->read(parts_[i].instance, out);
      } else {
        out[0] = parts_[i].seen;
        out[1] = parts_[i].passed;
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
    uint64_t gate = 0;  // of a trigger: how many more pass
    std::vector<Transaction> buffer;
  };
  static void emit(void* part, const void* packet, uint32_t bytes) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->services_.emit_from(self.whole->services_.capsule, packet, bytes, self.stage);
  }
  static void emit_from(void* part, const void* packet, uint32_t bytes, uint32_t) {
    emit(part, packet, bytes);
  }
  static void forward(void* part, const Transaction* transactions, size_t count) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->hand_on(self.stage, transactions, count);
  }
  static void signal(void* part, const Transaction* cause, uint32_t reason) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->services_.signal(self.whole->services_.capsule, cause, reason);
  }

  void hand_on(uint32_t from, const Transaction* batch, size_t count) noexcept {
    const Stage& stage = composition_.stages[from];
    for (const uint32_t next : stage.next) feed(next, batch, count);
    if (!stage.to_ring && !stage.next.empty()) return;
    for (size_t i = 0; i < count; ++i) {
      services_.emit_from(services_.capsule, &batch[i], sizeof(Transaction), from);
    }
  }
  void feed(uint32_t to, const Transaction* batch, size_t count) noexcept {
    const Stage& stage = composition_.stages[to];
    Part& part = parts_[to];
    switch (stage.kind) {
      case StageKind::kModule:
        stage.module->observe(part.instance, batch, count);
        return;
      case StageKind::kFilter:
        pass(to, batch, count,
             [&](const Transaction& t) { return stage.condition.evaluate(t, registers_) != 0; });
        return;
      case StageKind::kTrigger: {
        const uint64_t after = value_of(stage.after, registers_);
        pass(to, batch, count, [&](const Transaction& t) {
          if (stage.condition.evaluate(t, registers_) != 0) part.gate = after == 0 ? ~uint64_t{0} : after;
          if (part.gate == 0) return false;
          if (part.gate != ~uint64_t{0}) --part.gate;
          return true;
        });
        return;
      }
      case StageKind::kMap:
        part.seen += count;
        part.passed += count;
        while (count != 0) {
          const size_t now = std::min(count, kMapBatch);
          for (size_t i = 0; i < now; ++i) {
            part.buffer[i] = batch[i];
            // All from the transaction as it came.
            for (const auto& [field, value] : stage.assignments) {
              set(part.buffer[i], field, value.evaluate(batch[i], registers_));
            }
          }
          hand_on(to, part.buffer.data(), now);
          batch += now;
          count -= now;
        }
        return;
    }
  }
  // Hands runs of passing transactions on where they lie.
  template <typename Passes>
  void pass(uint32_t stage, const Transaction* batch, size_t count, const Passes& passes) noexcept {
    Part& part = parts_[stage];
    part.seen += count;
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
      if (passes(batch[i])) continue;
      if (i != begin) hand_run(stage, batch + begin, i - begin);
      begin = i + 1;
    }
    if (begin < count) hand_run(stage, batch + begin, count - begin);
  }
  void hand_run(uint32_t stage, const Transaction* batch, size_t count) noexcept {
    parts_[stage].passed += count;
    hand_on(stage, batch, count);
  }
  void write_back(uint32_t at) noexcept {
    const Stage& stage = composition_.stages[at];
    if (stage.module != nullptr && stage.module->write_back != nullptr) {
      stage.module->write_back(parts_[at].instance);
    }
    for (const uint32_t next : stage.next) write_back(next);
  }

  const Composition& composition_;
  const substrata_owl_services services_;
  uint64_t registers_[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  std::vector<Part> parts_;
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
    // Two counters, a latch a value, and a comparator or adder an operation.
    out->counters += 2;
    const auto add = [out](const Expression& e) {
      for (const Instruction& each : e.code)
        (each.op <= Op::kRegister ? out->table_bits : out->comparators) += each.op <= Op::kRegister ? 64 : 1;
    };
    add(stage.condition);
    for (const auto& [field, value] : stage.assignments) add(value);
  }
}

uint32_t longest_packet(const Module* self, const uint64_t* registers) noexcept {
  uint32_t longest = sizeof(Transaction);
  for (const Stage& stage : composition_of(self).stages) {
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
