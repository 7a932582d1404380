// shrimp-traps: illegal writers of a memory region are caught on their first packet (Martonosi et al.,
// section 4.3).
#include <papi.h>
#include <substrata/shrimp.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <tuple>

#include "papers/claims.hpp"
#include "papers/counted_set.hpp"
#include "papers/shrimp_runs.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kBytesOfPoint = 16;
constexpr const char* kParameters = "homes=round-robin";
constexpr std::uint32_t kSelection =
    SUBSTRATA_SHRIMP_SIZE(2) | SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_TAG | SUBSTRATA_SHRIMP_CATEGORY;

// Who may update which page. The FFT's two arrays of complex numbers begin on page 1; each process owns an equal part
// of each. Node 0's pages are left out, since tag 0 is that of everything else.
struct Assertion {
  explicit Assertion(const Size& size)
      : nodes(size.nodes), array_pages(size.amount * kBytesOfPoint / kPageBytes) {}
  std::uint32_t owner(std::uint64_t page) const {
    return static_cast<std::uint32_t>((page - 1) % array_pages / (array_pages / nodes));
  }
  std::uint32_t home(std::uint64_t page) const { return static_cast<std::uint32_t>(page % nodes); }
  bool covers(std::uint64_t page) const { return page >= 1 && page <= 2 * array_pages && owner(page) != 0; }
  // The owner of half of the nodes' middle, and its first page.
  std::uint32_t middle() const { return nodes / 2; }
  std::uint64_t page_of_middle() const { return 1 + middle() * (array_pages / nodes); }

  std::uint32_t nodes;
  std::uint64_t array_pages;
};

void demand(int status) {
  if (status != 0) throw std::runtime_error(substrata_shrimp_error());
}

// Node, tag, sender.
using Pair = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

// How often the handler ran, by pair.
std::map<Pair, int>& trapped() {
  static std::map<Pair, int> pairs;
  return pairs;
}

void on_trap(int, void* address, long long vector, void*) {
  substrata_shrimp_variables variables{};
  if (substrata_shrimp_variables_of(
          kSelection, static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)), &variables) != 0)
    return;
  const auto node = static_cast<std::uint32_t>(__builtin_ctzll(static_cast<unsigned long long>(vector)));
  ++trapped()[{node, variables.tag, variables.sender}];
}

// Looks at the same packets without any monitor: illegal pairs and how many packets each had.
class Onlooker {
 public:
  explicit Onlooker(const Assertion& assertion) : assertion_(assertion) {
    client::feed::demand(observer_.try_create<&Onlooker::take>(*this));
    client::feed::demand(observer_.try_subscribe("shrimp.node*.receive"));
  }
  std::map<Pair, std::uint64_t> illegal;
  std::uint64_t asserted = 0;  // packets into asserted pages at their homes

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t page = batch[i].address / kPageBytes;
      if (batch[i].kind == SUBSTRATA_COMMAND || !assertion_.covers(page) ||
          assertion_.home(page) != batch[i].target)
        continue;
      ++asserted;
      const std::uint32_t owner = assertion_.owner(page);
      if (batch[i].initiator != owner) ++illegal[{batch[i].target, owner, batch[i].initiator}];
    }
  }
  const Assertion& assertion_;
  client::feed::Observer observer_;
};

// Tags each page at its home with its owner's number, and sets the bins of all other senders one below the overflow.
// `others` and `owners`: what the bins begin with.
void assert_owners(const Assertion& assertion, std::uint64_t others, std::uint64_t owners) {
  substrata_shrimp_power_on();
  command_all(SUBSTRATA_SHRIMP_MULTIPLEXER, kSelection);
  for (std::uint64_t page = 1; page <= 2 * assertion.array_pages; ++page) {
    if (assertion.covers(page))
      demand(substrata_shrimp_set_tag(assertion.home(page), page, assertion.owner(page)));
  }
  // In an address the size's nibble is lowest, then come sender and tag; the category stays 0.
  constexpr std::uint32_t kOfSender = 16;
  constexpr std::uint32_t kOfTag = 256 * kOfSender;
  for (std::uint32_t node = 0; node < assertion.nodes; ++node) {
    for (std::uint32_t tag = 1; tag < assertion.nodes; ++tag) {
      demand(substrata_shrimp_initialise(0, node, tag * kOfTag, kOfTag, others));
      demand(substrata_shrimp_initialise(0, node, tag * kOfTag + tag * kOfSender, kOfSender, owners));
    }
  }
}

void arm(CountedSet& set, const std::vector<std::string>& events) {
  for (const std::string& event : events) {
    int code = 0;
    if (const int status = PAPI_event_name_to_code(("shrimp:::" + event).c_str(), &code); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
    if (const int status = PAPI_overflow(set.handle(), code, 1, 0, on_trap); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  }
  // PAPI's threshold has 32 bits.
  command_all(SUBSTRATA_SHRIMP_THRESHOLD, SUBSTRATA_SHRIMP_WORD_MOST);
}

// The interrupts of a run.
long long interrupts_of(const std::string& workload, const Case& one) {
  std::vector<std::string> events;
  for (std::uint32_t node = 0; node < one.size.nodes; ++node)
    events.push_back("INTERRUPTS:node=" + std::to_string(node));
  CountedSet set("shrimp", events);
  arm(set, events);
  trapped().clear();
  set.start();
  run_on_shrimp(workload, one.size.nodes, kParameters, one.seed);
  const std::vector<long long> values = set.stop();
  return std::accumulate(values.begin(), values.end(), 0LL);
}

constexpr char kNoBins[] = "bins=0";
constexpr char kOwnBins[] = "owners=full";
constexpr std::uint64_t kUntil = 10;

// Each page is updated by its owner only.
std::string legal(const Case& one) { return "fft:points=" + std::to_string(one.size.amount); }
// A program that is wrong about who owns these pages: a sort, which puts its keys anywhere.
std::string illegal(const Case& one) { return "radix:keys=" + std::to_string(4 * one.size.amount); }

Reading legal_traps(const Case& one, const Assertion& assertion) {
  assert_owners(assertion, SUBSTRATA_SHRIMP_WORD_MOST,
                one.setting == kOwnBins ? SUBSTRATA_SHRIMP_WORD_MOST : 0);
  const Onlooker onlooker(assertion);
  const long long traps = interrupts_of(legal(one), one);
  if (onlooker.asserted == 0 || !onlooker.illegal.empty())
    throw std::runtime_error("the program updates other pages than it should");
  return {static_cast<double>(traps),
          "in " + std::to_string(onlooker.asserted) + " packets to asserted pages"};
}

Reading illegal_traps(const Case& one, const Assertion& assertion, std::string* table = nullptr) {
  const std::uint64_t bins = one.setting == kNoBins ? 0 : SUBSTRATA_SHRIMP_WORD_MOST;
  assert_owners(assertion, bins, 0);
  const Onlooker onlooker(assertion);
  const long long traps = interrupts_of(illegal(one), one);
  std::size_t right = 0;
  for (const auto& [pair, packets] : onlooker.illegal) {
    const auto [node, tag, sender] = pair;
    const auto found = trapped().find(pair);
    const int calls = found == trapped().end() ? 0 : found->second;
    // The first packet made the word overflow to 0, the others were counted behind it.
    std::uint64_t word = 0;
    demand(substrata_shrimp_read(node, tag << 12 | sender << 4, 1, &word));
    if (calls == 1 && word == packets - 1) ++right;
    if (table != nullptr)
      *table += std::to_string(node) + "," + std::to_string(tag) + "," + std::to_string(sender) + "," +
                std::to_string(packets) + "," + std::to_string(calls) + "\n";
  }
  if (onlooker.illegal.empty()) throw std::runtime_error("the program updates no page that it should not");
  const auto most = std::max<long long>(traps, static_cast<long long>(onlooker.illegal.size()));
  return {static_cast<double>(right) / static_cast<double>(most),
          std::to_string(right) + " of " + std::to_string(onlooker.illegal.size()) +
              " illegal pairs of tag and sender, with " + std::to_string(traps) + " interrupts"};
}

Reading overflow_traps(const Case& one, const Assertion& assertion) {
  assert_owners(assertion, SUBSTRATA_SHRIMP_WORD_MOST, 0);
  const std::uint32_t node = assertion.home(assertion.page_of_middle());
  const std::uint32_t sender = assertion.middle();
  if (one.setting != kNoBins)
    demand(substrata_shrimp_initialise(0, node, sender << 12 | sender << 4, 1,
                                       SUBSTRATA_SHRIMP_WORD_MOST - kUntil));
  const long long traps = interrupts_of(legal(one), one);
  for (const auto& [pair, calls] : trapped()) {
    if (pair != Pair{node, sender, sender}) throw std::runtime_error("another bin trapped");
  }
  return {static_cast<double>(traps),
          "from the one bin that was set " + std::to_string(kUntil) + " below its end"};
}

Readings measure(const Case& one) {
  start_library();
  const Assertion assertion(one.size);
  Readings found;
  if (one.wants("legal")) found["legal"] = legal_traps(one, assertion);
  if (one.wants("illegal")) found["illegal"] = illegal_traps(one, assertion);
  if (one.wants("overflow")) found["overflow"] = overflow_traps(one, assertion);
  return found;
}

void figures(const Setting& setting) {
  start_library();
  const Size size{"", 16384, 16};
  std::string table = "node,tag,sender,packets,traps\n";
  illegal_traps({size, 1, "", {}}, Assertion(size), &table);
  setting.write("shrimp-traps.csv", [&](std::ostream& file) { file << table; });
}

}  // namespace

extern const Reproduction shrimp_traps = stated(
    "shrimp-traps", "Martonosi et al., section 4.3: debugging by threshold interrupts", measure, figures);

}  // namespace substrata::papers
