// other_family COMMAND [ARGUMENT...]: runs a command as on a processor of another family: on an Intel processor as on
// AMD's, on any other x86 as on Intel's. The library takes family and model from hwloc and the codes of events from
// libpfm4: hwloc gets this machine's topology with the other processor's CPUID, libpfm4 the name of its counter unit.
// OTHER_FAMILY_VENDOR holds the vendor for the command. Exit status 77: not an x86 processor.
#include <hwloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Family {
  const char* vendor;
  const char* model;
  const char* numbers[3];  // family, model, stepping
  const char* counters;    // libpfm4's name
};
constexpr Family kIntel{"GenuineIntel", "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", {"6", "85", "7"}, "clx"};
constexpr Family kAmd{
    "AuthenticAMD", "AMD EPYC 7763 64-Core Processor", {"25", "1", "1"}, "amd64_fam19h_zen3"};

// This machine's topology as hwloc exports it; empty when it cannot be had.
std::string exported_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  char* text = nullptr;
  int length = 0;
  std::string xml;
  if (hwloc_topology_load(topology) == 0 &&
      hwloc_topology_export_xmlbuffer(topology, &text, &length, 0) == 0) {
    xml.assign(text);
    hwloc_free_xmlbuffer(topology, text);
  }
  hwloc_topology_destroy(topology);
  return xml;
}

// Gives every object's information of that name another value.
void replace(std::string& xml, const std::string& name, const std::string& value) {
  const std::string before = "name=\"" + name + "\" value=\"";
  for (std::size_t at = xml.find(before); at != std::string::npos; at = xml.find(before, at)) {
    at += before.size();
    xml.replace(at, xml.find('"', at) - at, value);
  }
}

// A file without a name that the command and its children find; its path, or empty.
std::string kept(const std::string& text) {
  const int file = memfd_create("other_family", 0);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return {};
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: other_family COMMAND [ARGUMENT...]\n");
    return 2;
  }
  std::string xml = exported_topology();
  if (xml.find("name=\"CPUVendor\"") == std::string::npos) {
    std::fprintf(stderr, "other_family: hwloc knows no vendor here: not an x86 processor\n");
    return 77;
  }
  const Family& other = xml.find(kIntel.vendor) != std::string::npos ? kAmd : kIntel;
  replace(xml, "CPUVendor", other.vendor);
  replace(xml, "CPUModel", other.model);
  replace(xml, "CPUFamilyNumber", other.numbers[0]);
  replace(xml, "CPUModelNumber", other.numbers[1]);
  replace(xml, "CPUStepping", other.numbers[2]);
  const std::string path = kept(xml);
  if (path.empty() || setenv("HWLOC_XMLFILE", path.c_str(), 1) != 0 ||
      setenv("HWLOC_THISSYSTEM", "1", 1) != 0 || setenv("LIBPFM_FORCE_PMU", other.counters, 1) != 0 ||
      setenv("OTHER_FAMILY_VENDOR", other.vendor, 1) != 0) {
    std::fprintf(stderr, "other_family: %s\n", std::strerror(errno));
    return 1;
  }
  execvp(argv[1], argv + 1);
  std::fprintf(stderr, "other_family: %s: %s\n", argv[1], std::strerror(errno));
  return 127;
}
