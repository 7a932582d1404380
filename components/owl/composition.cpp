// Makes texts into modules: what the library shows of them, and where their errors are.
#include "owl/composition.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "owl/composition_parts.hpp"
#include "owl/library.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostText = 1 << 20;
constexpr uint64_t kMostMemory = 1 << 30;

constexpr Metric kStageMetrics[] = {
    count_metric("SEEN", "transactions that came to this stage", "transactions"),
    count_metric("PASSED", "of them those that it handed on", "transactions"),
};
constexpr Metric kTableMetrics[] = {
    count_metric("SEEN", "transactions that came to this table", "transactions"),
    count_metric("ROWS", "rows that it has written back", "rows"),
};

// How a row of a table reads as a packet.
std::string row_of(const Stage& stage) {
  std::string text = stage.every.is_set() ? "u64 period" : "";
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  for (const KeyColumn& key : stage.keys) add("u64 " + key.text);
  for (const ValueColumn& value : stage.values) {
    const uint32_t words = words_of(value.kind);
    add(value.kind == Aggregate::kAverage   ? "u64 sum, u64 count of " + value.text
        : value.kind == Aggregate::kMinimum ? "u64 ~" + value.text
        : words == 1                        ? "u64 " + value.text
                                            : std::to_string(words) + " times u64 " + value.text);
  }
  return text;
}

void check_memory(const Composition& c) {
  uint64_t bytes = 0;
  const auto add = [&bytes](const auto& one) {
    bytes += reserved_by(one);
    if (bytes > kMostMemory)
      throw SyntaxError{one.at, "with this one the tables and states take more than 1 GiB of memory"};
  };
  std::for_each(c.states.begin(), c.states.end(), add);
  std::for_each(c.stages.begin(), c.stages.end(), add);
}

// The description that the library needs; the composition stays where it is.
void describe(Composition& c) {
  for (size_t i = 0; i < c.registers.size(); ++i) {
    c.registers[i].name = c.register_texts[i].first.c_str();
    c.registers[i].text = c.register_texts[i].second.c_str();
  }
  std::vector<Metric> metrics;
  for (Stage& stage : c.stages) {
    stage.first_metric = static_cast<uint32_t>(metrics.size());
    std::string prefix = stage.label + "_";
    for (char& each : prefix) {
      each = each == '-' ? '_' : each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
    }
    const auto add = [&](const Metric& metric) {
      if (metrics.size() == SUBSTRATA_OWL_MOST_METRICS)
        throw SyntaxError{stage.at, "with this one the sub-modules have more than 48 metrics together"};
      if (prefix.size() + std::strlen(metric.name) > 31) {
        throw SyntaxError{stage.at,
                          "the metric's name '" + prefix + metric.name + "' is longer than 31 characters"};
      }
      c.metric_names.push_back(prefix + metric.name);
      metrics.push_back(metric);
    };
    if (stage.module != nullptr) {
      std::for_each(stage.module->metrics, stage.module->metrics + stage.module->metric_count, add);
    } else if (stage.kind == StageKind::kTable) {
      std::for_each(std::begin(kTableMetrics), std::end(kTableMetrics), add);
    } else {
      std::for_each(std::begin(kStageMetrics), std::end(kStageMetrics), add);
    }
    c.packets += (c.packets.empty() ? "stage " : "; stage ") + std::to_string(&stage - c.stages.data()) +
                 " (" + stage.label + "): " +
                 (stage.module != nullptr                                    ? stage.module->packets
                  : stage.kind == StageKind::kTable                          ? row_of(stage)
                  : stage.to_ring || (stage.next.empty() && !stage.is_quiet) ? "a transaction"
                                                                             : "");
  }
  for (size_t i = 0; i < metrics.size(); ++i) metrics[i].name = c.metric_names[i].c_str();
  c.metrics = std::move(metrics);
  Module& module = c.module;
  module.struct_size = sizeof(Module);
  module.abi = SUBSTRATA_OWL_MODULE_ABI;
  module.name = c.name.c_str();
  module.summary = c.summary.c_str();
  module.packets = c.packets.c_str();
  module.registers = c.registers.data();
  module.register_count = static_cast<uint32_t>(c.registers.size());
  module.metrics = c.metrics.data();
  module.metric_count = static_cast<uint32_t>(c.metrics.size());
  make_runnable(c);
}

// parse() gives the composition.
template <typename Parse>
int compile(std::string_view text, const std::string& origin, const Parse& parse,
            std::unique_ptr<Composition>* out) {
  if (text.size() > kMostText)
    return fail(Code::kInvalid, "%s: a composition has at most 1 MiB", origin.c_str());
  try {
    std::unique_ptr<Composition> made = parse();
    check_memory(*made);
    describe(*made);
    *out = std::move(made);
    return 0;
  } catch (const SyntaxError& error) {
    const std::string_view before = text.substr(0, std::min(error.at, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column =
        before.size() - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    return fail(Code::kInvalid, "%s:%td:%zu: %s", origin.c_str(), line, column, error.message.c_str());
  }
}

// Capsules and the library point to it from then on.
int keep(std::unique_ptr<Composition> made, const std::string& origin) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Composition>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(made));
  const int refused = add_modules({&kept->back()->module}, origin);
  if (refused != 0) kept->pop_back();
  return refused;
}

}  // namespace

int check_composition(std::string_view text, const std::string& origin, std::string* name) {
  std::unique_ptr<Composition> made;
  if (const int refused = compile(
          text, origin, [&] { return parse_composition(text); }, &made))
    return refused;
  *name = made->name;
  return 0;
}

int compose_and_add(std::string_view text, const std::string& origin) {
  std::unique_ptr<Composition> made;
  if (const int refused = compile(
          text, origin, [&] { return parse_composition(text); }, &made))
    return refused;
  return keep(std::move(made), origin);
}

int compose_query(std::string_view text, const std::string& origin, bool add,
                  std::shared_ptr<const Composition>* out) {
  static std::atomic<unsigned> queries{0};
  std::unique_ptr<Composition> made;
  const auto parse = [&] { return parse_query(text, "query-" + std::to_string(++queries)); };
  if (const int refused = compile(text, origin, parse, &made)) return refused;
  if (!add) {
    *out = std::move(made);
    return 0;
  }
  *out = {made.get(), [](const Composition*) {}};
  return keep(std::move(made), origin);
}

}  // namespace substrata::owl
