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

#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr int kIterations = 8;    // as many as figure 1 of the paper shows periods, roughly
constexpr int kPoints = 1 << 14;  // of the program's own FFT
constexpr int kDatagrams = 64;    // sent in each communication phase
constexpr int kDatagramBytes = 1024;
constexpr const char* kWorkload = "fft:points=4096";  // of the modelled memory
constexpr std::uint64_t kSeed = 1;

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
void repeatable_work(int example_set) {
  auto options = client::sized<substrata_run_options>();
  options.seed = kSeed;
  auto result = client::sized<substrata_run_result>();
  if (substrata_run("memory", kWorkload, &options, &result) != 0)
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  if (result.correct == 0) throw std::runtime_error(result.message);
  long long value = 0;
  for (int i = 0; i < 9 && example_set != PAPI_NULL; ++i) PAPI_read(example_set, &value);
}

// The value of one event counted alone over the same work.
long long count_alone(const Domain& domain) {
  Domains alone;
  if (!alone.add(domain.name, domain.event, domain.repeats))
    throw std::runtime_error("cannot count " + domain.event);
  const int set = alone.list.front().set;
  if (const int status = PAPI_start(set); status != PAPI_OK) throw std::runtime_error(refusal(status));
  repeatable_work(domain.name == "example" ? set : PAPI_NULL);
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

struct Row {
  int iteration;
  const char* phase;
  std::vector<long long> values;
};

std::vector<Observation> run_domains(const Setting& setting) {
  start_library();
  Link link;
  if (!link.works()) throw std::runtime_error("no datagram sockets on loopback");

  Domains domains;
  if (!domains.add("processor", "PAPI_FP_OPS", false)) domains.add("processor", "perf::TASK-CLOCK", false);
  const std::string temperature = find_temperature();
  if (!temperature.empty()) domains.add("temperature", temperature, false);
  domains.add("network", "net:::lo:tx:packets", false);
  domains.add("memory model", "memory:::ACCESSES", true);
  domains.add("example", "example:::reads", true);
  const std::size_t count = domains.list.size();
  if (count < 2)
    throw std::runtime_error("fewer than two substrates open here; `substrata doctor` shows why");
  std::vector<Observation> claims;

  // Search across the substrates, which names the substrate of each event.
  std::string found;
  bool identified = true;
  for (const Domain& domain : domains.list) {
    int code = 0;
    identified = identified && PAPI_event_name_to_code(domain.event.c_str(), &code) == PAPI_OK &&
                 PAPI_get_event_component(code) == PAPI_get_eventset_component(domain.set);
    found +=
        (found.empty() ? "" : ", ") + domain.event + " in " + component_name(PAPI_get_event_component(code));
  }
  claims.push_back({"events are searched across all substrates, and the substrate of each is identified",
                    "mechanisms have been added (section 2)",
                    found,
                    identified,
                    {}});

  // A set holds events of one substrate.
  bool refused = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Domain& other = domains.list[(i + 1) % count];
    refused = refused && PAPI_add_named_event(domains.list[i].set, other.event.c_str()) == PAPI_EINVAL &&
              PAPI_num_events(domains.list[i].set) == 1;
  }
  claims.push_back({"an eventset belongs to one substrate and can only contain its events",
                    "only (section 2)",
                    refused ? "an event of another substrate was refused by each of " +
                                  std::to_string(count) + " sets, which stayed as they were"
                            : "an event of another substrate was taken",
                    refused,
                    {}});

  // The main run: all sets at once, read at the border of every phase.
  bool all_run = true;
  for (const Domain& domain : domains.list) all_run = all_run && PAPI_start(domain.set) == PAPI_OK;
  for (const Domain& domain : domains.list) {
    int state = 0;
    all_run = all_run && PAPI_state(domain.set, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0;
  }
  std::string names;
  for (const Domain& domain : domains.list) names += (names.empty() ? "" : ", ") + domain.name;
  claims.push_back(
      {"sets of different substrates are active simultaneously", "multiple (section 2)",
       std::to_string(count) + " sets " + (all_run ? "ran" : "did not all run") + " at once: " + names,
       all_run && count >= 2,
       temperature.empty() ? "no temperature sensor opens here, so that domain is left out" : ""});

  bool one_each = true;
  for (const Domain& domain : domains.list) {
    Domains second;
    one_each = one_each && second.add(domain.name, domain.event, false) &&
               PAPI_start(second.list.front().set) == PAPI_EISRUN;
  }
  claims.push_back({"only one eventset per substrate runs at a time",
                    "one (section 2)",
                    one_each ? "a second set of each substrate was refused while the first ran"
                             : "a second set of a running substrate was started",
                    one_each,
                    {}});

  std::vector<Row> rows;
  const auto read_all = [&] {
    std::vector<long long> values(count);
    for (std::size_t i = 0; i < count; ++i)
      if (const int status = PAPI_read(domains.list[i].set, &values[i]); status != PAPI_OK)
        throw std::runtime_error(domains.list[i].event + ": " + refusal(status));
    return values;
  };
  std::vector<Complex> data(kPoints);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = {std::sin(0.1 * static_cast<double>(i)), 0};
  bool right = true;
  std::size_t processor = count, network = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (domains.list[i].name == "processor") processor = i;
    if (domains.list[i].name == "network") network = i;
  }
  int computing = 0, communicating = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::vector<long long> before = read_all();
    right = compute(data) && right;
    std::vector<long long> between = read_all();
    if (!link.communicate()) throw std::runtime_error("the loopback interface refuses datagrams");
    const std::vector<long long> after = read_all();
    if (processor < count && between[processor] > before[processor]) ++computing;
    if (network < count && after[network] - between[network] >= kDatagrams) ++communicating;
    for (std::size_t i = 0; i < count; ++i) {
      before[i] = between[i] - before[i];
      between[i] = after[i] - between[i];
    }
    rows.push_back({iteration, "compute", before});
    rows.push_back({iteration, "communicate", between});
  }
  if (!right) throw std::runtime_error("the FFT's inverse does not give back its input");
  const bool both = processor < count && network < count;
  claims.push_back({"the periods of computation and communication of an FFT show in the domains' counters",
                    "periodic (figure 1)",
                    "of " + std::to_string(kIterations) + " iterations " + std::to_string(computing) +
                        " show processor work while computing, " + std::to_string(communicating) +
                        " at least the " + std::to_string(kDatagrams) + " packets that were sent",
                    both && computing == kIterations && communicating == kIterations,
                    both ? "the paper's figure is of eight nodes with temperature; examples/demo draws it"
                         : "the processor's or the network's counters do not open here"});

  // The same work with the sets at once and one after the other.
  std::vector<long long> together(count);
  int example_set = PAPI_NULL;
  for (const Domain& domain : domains.list) {
    if (domain.name == "example") example_set = domain.set;
    if (const int status = PAPI_reset(domain.set); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  }
  repeatable_work(example_set);
  for (std::size_t i = 0; i < count; ++i)
    if (const int status = PAPI_stop(domains.list[i].set, &together[i]); status != PAPI_OK)
      throw std::runtime_error(refusal(status));
  bool equal = true;
  unsigned compared = 0;
  std::string values;
  for (std::size_t i = 0; i < count; ++i) {
    if (!domains.list[i].repeats) continue;
    const long long alone = count_alone(domains.list[i]);
    equal = equal && alone == together[i];
    ++compared;
    values += (values.empty() ? "" : "; ") + domains.list[i].event + " " + std::to_string(together[i]) +
              " at once, " + std::to_string(alone) + " alone";
  }
  claims.push_back({"values are those of separate runs, where the program alone decides them",
                    "implied: substrates do not disturb each other",
                    values,
                    equal && compared > 0,
                    {}});

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
  return claims;
}

}  // namespace

extern const Reproduction papi_domains{
    "papi-domains", "Dongarra et al., sections 2 and 3: several measurement domains at once", run_domains};

}  // namespace substrata::papers
