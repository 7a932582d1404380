// shrimp-traps: illegal writers of a memory region are caught on their first packet (Martonosi et al.,
// section 4.3).
#include <papi.h>
#include <substrata/shrimp.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <map>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <tuple>

#include "papers/counted_set.hpp"
#include "papers/reproduction.hpp"
#include "papers/shrimp_runs.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint32_t kNodes = 16;
constexpr std::uint64_t kPageBytes = 4096;
// The FFT's two arrays of 16384 complex numbers begin on page 1; each process owns an equal part of each.
constexpr const char* kLegal = "fft:points=16384";
constexpr std::uint64_t kArrayPages = 64;
constexpr std::uint64_t kOwnedPages = kArrayPages / kNodes;
// A program that is wrong about who owns these pages: a sort, which puts its keys anywhere.
constexpr const char* kIllegal = "radix:keys=65536";
constexpr const char* kParameters = "homes=round-robin";
constexpr std::uint32_t kSelection =
    SUBSTRATA_SHRIMP_SIZE(2) | SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_TAG | SUBSTRATA_SHRIMP_CATEGORY;

std::uint32_t owner(std::uint64_t page) {
  return static_cast<std::uint32_t>((page - 1) % kArrayPages / kOwnedPages);
}
bool is_asserted(std::uint64_t page) { return page >= 1 && page <= 2 * kArrayPages && owner(page) != 0; }

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
  Onlooker() {
    if (observer_.try_create<&Onlooker::take>(*this) != 0 ||
        observer_.try_subscribe("shrimp.node*.receive") != 0)
      throw std::runtime_error(substrata_feed_error());
  }
  std::map<Pair, std::uint64_t> illegal;
  std::uint64_t asserted = 0;  // packets into asserted pages at their homes

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t page = batch[i].address / kPageBytes;
      if (batch[i].kind == SUBSTRATA_COMMAND || !is_asserted(page) || page % kNodes != batch[i].target)
        continue;
      ++asserted;
      if (batch[i].initiator != owner(page)) ++illegal[{batch[i].target, owner(page), batch[i].initiator}];
    }
  }
  client::feed::Observer observer_;
};

// Tags each page at its home with its owner's number, and sets the bins of all other senders one below the
// overflow.
void assert_owners() {
  substrata_shrimp_power_on();
  command_all(SUBSTRATA_SHRIMP_MULTIPLEXER, kSelection);
  for (std::uint64_t page = 1; page <= 2 * kArrayPages; ++page) {
    if (is_asserted(page))
      demand(substrata_shrimp_set_tag(static_cast<std::uint32_t>(page % kNodes), page, owner(page)));
  }
  // In an address the size's nibble is lowest, then come sender and tag; the category stays 0.
  constexpr std::uint32_t kOfSender = 16;
  constexpr std::uint32_t kOfTag = 256 * kOfSender;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    for (std::uint32_t tag = 1; tag < kNodes; ++tag) {
      demand(substrata_shrimp_initialise(0, node, tag * kOfTag, kOfTag, SUBSTRATA_SHRIMP_WORD_MOST));
      demand(substrata_shrimp_initialise(0, node, tag * kOfTag + tag * kOfSender, kOfSender, 0));
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

std::vector<Claim> run_traps(const Setting& setting) {
  start_library();
  std::vector<Claim> claims;
  std::vector<std::string> events;
  for (std::uint32_t node = 0; node < kNodes; ++node)
    events.push_back("INTERRUPTS:node=" + std::to_string(node));
  const auto interrupts_of = [&](const char* workload) {
    CountedSet set("shrimp", events);
    arm(set, events);
    set.start();
    run_on_shrimp(workload, kNodes, kParameters);
    const std::vector<long long> values = set.stop();
    return std::accumulate(values.begin(), values.end(), 0LL);
  };

  {
    assert_owners();
    trapped().clear();
    Onlooker onlooker;
    const long long traps = interrupts_of(kLegal);
    claims.push_back({"legal traffic does not trap", "never, until a counter overflows",
                      std::to_string(traps) + " interrupts in " + std::to_string(onlooker.asserted) +
                          " packets to asserted pages",
                      traps == 0 && trapped().empty() && onlooker.illegal.empty() && onlooker.asserted > 0,
                      std::string(kLegal) + " on 16 nodes; each page may be updated by its owner only"});
  }
  std::string table = "node,tag,sender,packets,traps\n";
  {
    assert_owners();
    trapped().clear();
    Onlooker onlooker;
    const long long traps = interrupts_of(kIllegal);
    bool once = trapped().size() == onlooker.illegal.size();
    bool at_first = true;
    for (const auto& [pair, packets] : onlooker.illegal) {
      const auto found = trapped().find(pair);
      const int calls = found == trapped().end() ? 0 : found->second;
      once = once && calls == 1;
      table += std::to_string(std::get<0>(pair)) + "," + std::to_string(std::get<1>(pair)) + "," +
               std::to_string(std::get<2>(pair)) + "," + std::to_string(packets) + "," +
               std::to_string(calls) + "\n";
      // The first packet made the word overflow to 0, the others were counted behind it.
      std::uint64_t word = 0;
      demand(substrata_shrimp_read(std::get<0>(pair), std::get<1>(pair) << 12 | std::get<2>(pair) << 4, 1,
                                   &word));
      at_first = at_first && word == packets - 1;
    }
    claims.push_back(
        {"an illegal packet traps although it occurs only once", "even once",
         std::to_string(trapped().size()) + " of " + std::to_string(onlooker.illegal.size()) +
             " illegal pairs of tag and sender trapped, with " + std::to_string(traps) + " interrupts; " +
             (at_first ? "each" : "not each") + " on its first packet",
         once && at_first && !onlooker.illegal.empty() &&
             traps == static_cast<long long>(onlooker.illegal.size()),
         std::string(kIllegal) + " writes to the same pages; an observer without a monitor counted"});
  }
  {
    assert_owners();
    trapped().clear();
    constexpr std::uint64_t kUntil = 10;
    // Page 2 x 16 + 1 of the first array has owner 8 and home 1.
    constexpr std::uint32_t kNode = 1;
    constexpr std::uint32_t kSender = 8;
    demand(substrata_shrimp_initialise(0, kNode, kSender << 12 | kSender << 4, 1,
                                       SUBSTRATA_SHRIMP_WORD_MOST - kUntil));
    const long long traps = interrupts_of(kLegal);
    claims.push_back(
        {"a legal event that overflows its counter traps as well",
         "that too causes an interrupt",
         std::to_string(traps) + " interrupt from the one bin that was set " + std::to_string(kUntil) +
             " below its end",
         traps == 1 && trapped().size() == 1 && trapped().begin()->first == Pair{kNode, kSender, kSender},
         {}});
  }
  setting.write("shrimp-traps.csv", [&](std::ostream& file) { file << table; });
  return claims;
}

}  // namespace

extern const Reproduction shrimp_traps{
    "shrimp-traps", "Martonosi et al., section 4.3: debugging by threshold interrupts", run_traps};

}  // namespace substrata::papers
