// papi-domains: eventsets of several substrates at once, in an FFT with communication between its iterations
// (Dongarra et al., sections 2 and 3).
#include <arpa/inet.h>
#include <substrata/feed.h>
#include <sys/socket.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "papers/claims.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr int kIterations = 8;  // as many as figure 1 of the paper shows periods, roughly
constexpr int kDatagrams = 64;  // sent in each communication phase
constexpr int kDatagramBytes = 1024;
constexpr const char* kWorkload = "fft:points=4096";  // of the modelled memory
// Mutants.
constexpr char kFirstOnly[] = "search=the first substrate";
constexpr char kOwn[] = "events=of the set's own substrate";
constexpr char kOneSubstrate[] = "sets=of one substrate";
constexpr char kOther[] = "second set=of another substrate";
constexpr char kMixed[] = "phases=one";
constexpr char kDisturbed[] = "alone=with another set's reads";

using Complex = std::complex<double>;

// Radix 2, in place, sign -1 forward and +1 backward (without the division).
void transform(std::vector<Complex>& data, int sign) {
  const std::size_t size = data.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
  for (std::size_t length = 2; length <= size; length *= 2)
    for (std::size_t k = 0; k < length / 2; ++k) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      const Complex root(std::cos(angle), std::sin(angle));
      for (std::size_t i = k; i < size; i += length) {
        const Complex product = data[i + length / 2] * root;
        data[i + length / 2] = data[i] - product;
        data[i] += product;
      }
    }
}

// Forward and back; whether the input comes out again.
bool compute(std::vector<Complex>& data) {
  const std::vector<Complex> before = data;
  transform(data, -1);
  transform(data, 1);
  double worst = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] /= static_cast<double>(data.size());
    worst = std::max(worst, std::abs(data[i] - before[i]));
  }
  return worst < 1e-9;
}

// Two datagram sockets on loopback, one sending to the other.
class Link {
 public:
  Link() : sender_(socket(AF_INET, SOCK_DGRAM, 0)), receiver_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    works_ = sender_ >= 0 && receiver_ >= 0 &&
             bind(receiver_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
             getsockname(receiver_, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
             connect(sender_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Link() {
    if (sender_ >= 0) close(sender_);
    if (receiver_ >= 0) close(receiver_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  bool works() const { return works_; }

  // Sends every datagram and takes it in again; false when one was refused.
  bool communicate() {
    char data[kDatagramBytes] = {};
    for (int i = 0; i < kDatagrams; ++i)
      if (send(sender_, data, sizeof data, 0) != kDatagramBytes ||
          recv(receiver_, data, sizeof data, 0) != kDatagramBytes)
        return false;
    return true;
  }

 private:
  int sender_;
  int receiver_;
  bool works_ = false;
};

// One domain: a substrate's eventset. `repeats` says that its values depend on the program alone.
struct Domain {
  std::string name;
  std::string event;
  bool repeats = false;
  int set = PAPI_NULL;
};

class Domains {
 public:
  Domains() = default;
  ~Domains() {
    for (Domain& domain : list) {
      PAPI_stop(domain.set, nullptr);
      PAPI_cleanup_eventset(domain.set);
      PAPI_destroy_eventset(&domain.set);
    }
  }
  Domains(const Domains&) = delete;
  Domains& operator=(const Domains&) = delete;
  Domains(Domains&& other) noexcept : list(std::exchange(other.list, {})) {}

  bool add(const std::string& name, const std::string& event, bool repeats) {
    Domain domain{name, event, repeats, PAPI_NULL};
    if (PAPI_create_eventset(&domain.set) != PAPI_OK) return false;
    if (PAPI_add_named_event(domain.set, event.c_str()) != PAPI_OK) {
      PAPI_destroy_eventset(&domain.set);
      return false;
    }
    list.push_back(domain);
    return true;
  }
  std::vector<Domain> list;
};

// What passes in the modelled memory and in the example substrate: it depends on the program alone.
void repeatable_work(int example_set, std::uint64_t seed, int reads = 9) {
  auto options = client::sized<substrata_run_options>();
  options.seed = seed;
  auto result = client::sized<substrata_run_result>();
  if (substrata_run("memory", kWorkload, &options, &result) != 0)
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  if (result.correct == 0) throw std::runtime_error(result.message);
  long long value = 0;
  for (int i = 0; i < reads && example_set != PAPI_NULL; ++i) PAPI_read(example_set, &value);
}

// The value of one event counted alone over the same work.
long long count_alone(const Domain& domain, std::uint64_t seed, int reads) {
  Domains alone;
  if (!alone.add(domain.name, domain.event, domain.repeats))
    throw std::runtime_error("cannot count " + domain.event);
  const int set = alone.list.front().set;
  if (const int status = PAPI_start(set); status != PAPI_OK) throw std::runtime_error(refusal(status));
  repeatable_work(domain.name == "example" ? set : PAPI_NULL, seed, reads);
  long long value = 0;
  if (const int status = PAPI_stop(set, &value); status != PAPI_OK) throw std::runtime_error(refusal(status));
  return value;
}

// The first temperature that opens here, if any; the model only where the user asked for it.
std::string find_temperature() {
  for (const char* component : {"coretemp", "lmsensors", "thermal_model"}) {
    const int index = PAPI_get_component_index(component);
    if (index < 0) continue;
    for (const int code : native_events(index)) {
      const substrata_event event = describe(code);
      if (event.available != 0 && std::string(event.unit).find('C') != std::string::npos)
        return event_name(code);
    }
  }
  return {};
}

// A substrate each, as many as open here.
Domains domains_here() {
  Domains domains;
  if (!domains.add("processor", "PAPI_FP_OPS", false)) domains.add("processor", "perf::TASK-CLOCK", false);
  const std::string temperature = find_temperature();
  if (!temperature.empty()) domains.add("temperature", temperature, false);
  domains.add("network", "net:::lo:tx:packets", false);
  domains.add("memory model", "memory:::ACCESSES", true);
  domains.add("example", "example:::reads", true);
  if (domains.list.size() < 2)
    throw std::runtime_error("fewer than two substrates open here; `substrata doctor` shows why");
  return domains;
}

std::string names_of(const Domains& domains) {
  std::string names;
  for (const Domain& domain : domains.list) names += (names.empty() ? "" : ", ") + domain.name;
  return names;
}

// Of the events, how many are found with the substrate of their set.
Reading identified(const Case& one, const Domains& domains) {
  double found = 0;
  for (const Domain& domain : domains.list) {
    int code = 0;
    if (PAPI_event_name_to_code(domain.event.c_str(), &code) != PAPI_OK) continue;
    const int component = PAPI_get_event_component(code);
    if (one.setting == kFirstOnly && component != PAPI_get_eventset_component(domains.list.front().set))
      continue;
    found += component == PAPI_get_eventset_component(domain.set) ? 1 : 0;
  }
  return {found / static_cast<double>(domains.list.size()), names_of(domains)};
}

// Of the attempts to add an event of another substrate to a set, how many were refused and left the set as it was.
Reading refused(const Case& one, const Domains& domains) {
  double refusals = 0;
  const std::size_t count = domains.list.size();
  for (std::size_t i = 0; i < count; ++i) {
    Domains again;
    if (!again.add(domains.list[i].name, domains.list[i].event, false))
      throw std::runtime_error("a set is refused");
    const int set = again.list.front().set;
    if (one.setting == kOwn) PAPI_cleanup_eventset(set);
    const Domain& other = domains.list[one.setting == kOwn ? i : (i + 1) % count];
    const int before = PAPI_num_events(set);
    refusals +=
        PAPI_add_named_event(set, other.event.c_str()) == PAPI_EINVAL && PAPI_num_events(set) == before ? 1
                                                                                                        : 0;
  }
  return {refusals / static_cast<double>(count), std::to_string(count) + " sets"};
}

// How many sets run at once.
Reading running(const Case& one, const Domains& domains) {
  double run = 0;
  Domains sets;
  for (const Domain& domain : domains.list) {
    const Domain& taken = one.setting == kOneSubstrate ? domains.list.front() : domain;
    if (!sets.add(taken.name, taken.event, false)) continue;
    PAPI_start(sets.list.back().set);
  }
  for (const Domain& domain : sets.list) {
    int state = 0;
    run += PAPI_state(domain.set, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0 ? 1 : 0;
  }
  return {run, names_of(domains)};
}

// Of the attempts to start a second set of a running substrate, how many were refused.
Reading second_refused(const Case& one, const Domains& domains) {
  double refusals = 0;
  const std::size_t count = domains.list.size();
  for (std::size_t i = 0; i < count; ++i) {
    Domains sets;
    const Domain& second = domains.list[one.setting == kOther ? (i + 1) % count : i];
    if (!sets.add(domains.list[i].name, domains.list[i].event, false) ||
        !sets.add(second.name, second.event, false) || PAPI_start(sets.list[0].set) != PAPI_OK)
      throw std::runtime_error("a set of " + domains.list[i].name + " is refused");
    refusals += PAPI_start(sets.list[1].set) == PAPI_EISRUN ? 1 : 0;
  }
  return {refusals / static_cast<double>(count), std::to_string(count) + " substrates"};
}

struct Row {
  int iteration;
  const char* phase;
  std::vector<long long> values;
};

// Iterations of computing and communicating with all sets read at the border of every phase.
std::vector<Row> iterate(const Case& one, Domains& domains) {
  Link link;
  if (!link.works()) throw std::runtime_error("no datagram sockets on loopback");
  const std::size_t count = domains.list.size();
  const auto read_all = [&] {
    std::vector<long long> values(count);
    for (std::size_t i = 0; i < count; ++i)
      if (const int status = PAPI_read(domains.list[i].set, &values[i]); status != PAPI_OK)
        throw std::runtime_error(domains.list[i].event + ": " + refusal(status));
    return values;
  };
  for (const Domain& domain : domains.list)
    if (const int status = PAPI_start(domain.set); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  std::vector<Complex> data(one.size.amount);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = {std::sin(0.1 * static_cast<double>(one.seed * i)), 0};
  std::vector<Row> rows;
  bool right = true;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::vector<long long> before = read_all();
    right = compute(data) && right;
    if (one.setting == kMixed && !link.communicate()) throw std::runtime_error("loopback refuses datagrams");
    std::vector<long long> between = read_all();
    if (one.setting != kMixed && !link.communicate()) throw std::runtime_error("loopback refuses datagrams");
    const std::vector<long long> after = read_all();
    for (std::size_t i = 0; i < count; ++i) {
      before[i] = between[i] - before[i];
      between[i] = after[i] - between[i];
    }
    rows.push_back({iteration, "compute", before});
    rows.push_back({iteration, "communicate", between});
  }
  if (!right) throw std::runtime_error("the FFT's inverse does not give back its input");
  for (const Domain& domain : domains.list) PAPI_stop(domain.set, nullptr);
  return rows;
}

// Of the phases, how many show in the counters of the domain that works in them.
Reading periods(const Case& one, Domains& domains) {
  const std::size_t count = domains.list.size();
  std::size_t processor = count, network = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (domains.list[i].name == "processor") processor = i;
    if (domains.list[i].name == "network") network = i;
  }
  if (processor == count || network == count)
    throw std::runtime_error("the processor's or the network's counters do not open here");
  double shown = 0;
  const std::vector<Row> rows = iterate(one, domains);
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    const std::vector<long long>&computed = rows[i].values, &communicated = rows[i + 1].values;
    shown += computed[processor] > communicated[processor] ? 1 : 0;
    shown += communicated[network] >= kDatagrams && communicated[network] > computed[network] ? 1 : 0;
  }
  return {
      shown / static_cast<double>(rows.size()),
      std::to_string(rows.size()) + " phases, " + std::to_string(kDatagrams) + " datagrams in every second"};
}

// Counts of the same work with the sets at once and one after the other.
Reading apart(const Case& one, const Domains& domains) {
  Domains together;
  for (const Domain& domain : domains.list) together.add(domain.name, domain.event, domain.repeats);
  int example_set = PAPI_NULL;
  for (const Domain& domain : together.list) {
    if (domain.name == "example") example_set = domain.set;
    if (const int status = PAPI_start(domain.set); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  }
  repeatable_work(example_set, one.seed);
  std::vector<long long> values(together.list.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const int status = PAPI_stop(together.list[i].set, &values[i]); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  double difference = 0;
  std::string shown;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Domain& domain = together.list[i];
    if (!domain.repeats) continue;
    const long long alone = count_alone(domain, one.seed, one.setting == kDisturbed ? 10 : 9);
    difference += std::abs(static_cast<double>(alone - values[i]));
    shown += (shown.empty() ? "" : "; ") + domain.event + " " + std::to_string(values[i]) + " at once, " +
             std::to_string(alone) + " alone";
  }
  if (shown.empty()) throw std::runtime_error("no substrate whose values repeat opens here");
  return {difference, shown};
}

Readings measure(const Case& one) {
  start_library();
  Domains domains = domains_here();
  Readings found;
  if (one.wants("search")) found["search"] = identified(one, domains);
  if (one.wants("belongs")) found["belongs"] = refused(one, domains);
  if (one.wants("at-once")) found["at-once"] = running(one, domains);
  if (one.wants("one-each")) found["one-each"] = second_refused(one, domains);
  if (one.wants("periods")) found["periods"] = periods(one, domains);
  if (one.wants("undisturbed")) found["undisturbed"] = apart(one, domains);
  return found;
}

void figures(const Setting& setting) {
  start_library();
  Domains domains = domains_here();
  const Size size{"", 1 << 14, 1};
  const std::vector<Row> rows = iterate({size, 1, "", {}}, domains);
  setting.write("papi-domains.csv", [&](std::ostream& file) {
    file << "iteration,phase";
    for (const Domain& domain : domains.list) file << ',' << domain.event;
    file << '\n';
    for (const Row& row : rows) {
      file << row.iteration << ',' << row.phase;
      for (const long long value : row.values) file << ',' << value;
      file << '\n';
    }
  });
}

}  // namespace

extern const Reproduction papi_domains =
    stated("papi-domains", "Dongarra et al., sections 2 and 3: several measurement domains at once", measure,
           figures);

}  // namespace substrata::papers
