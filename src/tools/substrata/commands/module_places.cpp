// substrata module try: one module in capsules at five places that have nothing in common but transactions.
#include "tools/substrata/commands/module_places.hpp"

#include <substrata/feed.h>
#include <substrata/pages.h>
#include <sys/mman.h>
#include <unistd.h>
#include <substrata/owl.hpp>
#include <substrata/result.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "recording/sampler/measuring.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

using owl_monitor::Capsule;

// Runs a workload on a machine model; throws std::runtime_error when it does not end with the right result.
void run_machine(const char* machine, const char* workload, std::uint32_t processes) {
  auto options = client::sized<substrata_run_options>();
  options.processes = processes;
  options.seed = 1;
  auto result = client::sized<substrata_run_result>();
  if (substrata_run(machine, workload, &options, &result) != 0 || result.correct == 0)
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
}

void run_memory() { run_machine("memory", "fft:points=4096", 1); }
void run_numachine() { run_machine("numachine", "fft:points=4096", 4); }
void run_myrinet() { run_machine("myrinet", "fft:points=4096", 2); }

// Faults of this process itself on fresh pages.
void touch_pages() {
  substrata_page_faults* faults = nullptr;
  if (substrata_page_faults_start(nullptr, &faults) != 0) throw std::runtime_error(substrata_feed_error());
  const std::unique_ptr<substrata_page_faults, void (*)(substrata_page_faults*)> ended(
      faults, substrata_page_faults_stop);
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kPages = 1000;
  void* const memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to touch");
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, kPages * page);
}

struct Place {
  const char* name;
  const char* probes;
  const char* origin;
  void (*traffic)();
};

constexpr Place kPlaces[] = {
    {"L1-L2", "mem.cpu0.l1-l2", "modelled", run_memory},
    {"L2-memory", "mem.cpu0.l2-memory", "modelled", run_memory},
    {"NUMAchine bus", "numachine.st0.cpu0.bus", "modelled", run_numachine},
    {"Myrinet interface", "myrinet.node0.lanai.send,myrinet.node0.lanai.receive", "modelled", run_myrinet},
    {"page faults", "os.page-faults", "measured", touch_pages},
};

}  // namespace

int try_module(const std::string& name, const std::string& registers) {
  start_library();
  auto info = client::sized<substrata_owl_module_info>();
  owl_monitor::demand(substrata_owl_module_find(name.c_str(), &info));
  { const Capsule fits(kPlaces[0].probes, name, registers); }  // else refused before anything is printed
  std::printf("%s, from %s, in five capsules\n\n%-18s %-9s %12s %10s %10s %8s", info.name, info.origin,
              "capsule at", "", "transactions", "packets", "bytes", "dropped");
  for (std::uint32_t m = 0; m < info.metric_count; ++m) std::printf("  %s", info.metrics[m].name);
  std::printf("\n");
  int status = 0;
  for (const Place& place : kPlaces) {
    try {
      // Large enough to hold all packets of the run.
      Capsule capsule(place.probes, name, registers, std::uint64_t{1} << 24);
      place.traffic();
      capsule.write_back();
      const substrata_owl_statistics seen = capsule.statistics();
      std::printf("%-18s %-9s %12llu %10llu %10llu %8llu", place.name, place.origin,
                  static_cast<unsigned long long>(seen.events_seen),
                  static_cast<unsigned long long>(seen.packets_injected),
                  static_cast<unsigned long long>(seen.bytes_injected),
                  static_cast<unsigned long long>(seen.dropped));
      for (std::uint32_t m = 0; m < info.metric_count; ++m) {
        std::printf("  %*llu", static_cast<int>(std::strlen(info.metrics[m].name)),
                    static_cast<unsigned long long>(capsule.metric(info.metrics[m].name)));
      }
      std::printf("\n");
      if (seen.events_seen == 0) status = 1;
    } catch (const std::exception& error) {
      std::printf("%-18s %s\n", place.name, error.what());
      status = 1;
    }
  }
  return status;
}

}  // namespace substrata::tool
