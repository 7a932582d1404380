// Commands: which statistics there are, on the interfaces or in host memory.
#include <substrata/myrinet.h>

#include <memory>
#include <string>

#include "myrinet/arguments.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

extern "C" {

int substrata_myrinet_default_shape(substrata_myrinet_shape* out) {
  if (out == nullptr || out->struct_size < sizeof *out)
    return fail(Code::kInvalid, "a shape with struct_size set is needed");
  copy_shape(Shape(), out);
  return 0;
}

int substrata_myrinet_memory(const substrata_myrinet_shape* wanted, uint64_t* bytes) {
  return command([&](Recorder& self) {
    if (bytes == nullptr) return fail(Code::kInvalid, "there is no place for the byte count");
    Shape shape;
    std::string wrong;
    if (wanted == nullptr) {
      self.with_memory([&](auto& memory) { shape = memory->shape(); });
    } else if (!read_shape(*wanted, &shape, &wrong)) {
      return fail(Code::kInvalid, "%s", wrong.c_str());
    }
    const std::shared_ptr<HostStore> store = wanted == nullptr ? host_store() : nullptr;
    *bytes = store != nullptr ? bytes_of(shape, store->layout()) : bytes_of(shape);
    return 0;
  });
}

int substrata_myrinet_configure(const substrata_myrinet_shape* wanted) {
  return command([&](Recorder& self) {
    Shape shape;
    std::string wrong;
    if (wanted == nullptr) return fail(Code::kInvalid, "there is no shape");
    if (!read_shape(*wanted, &shape, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (bytes_of(shape) > SUBSTRATA_MYRINET_SRAM_BYTES) {
      return fail(Code::kInvalid,
                  "the statistics would take %llu bytes of each interface, whose memory has %u; ask for "
                  "fewer or wider bins, nodes or programs",
                  static_cast<unsigned long long>(bytes_of(shape)), SUBSTRATA_MYRINET_SRAM_BYTES);
    }
    const std::lock_guard lock(self.commands);
    if (self.recording)
      return fail(Code::kRunning, "the shape cannot change while the monitor records; stop it first");
    self.replace(std::make_unique<MonitorMemory>(shape),
                 std::make_unique<OperationMemory>(shape.nodes, shape.programs), nullptr);
    return 0;
  });
}

int substrata_myrinet_host_memory(const substrata_myrinet_shape* wanted, const substrata_myrinet_host* host,
                                  uint64_t* interface_bytes, uint64_t* host_bytes) {
  return command([&](Recorder&) {
    Shape shape;
    HostLayout layout;
    std::string wrong;
    if (!read_host(wanted, host, &shape, &layout, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (interface_bytes != nullptr) *interface_bytes = bytes_of(shape, layout);
    if (host_bytes != nullptr) *host_bytes = layout.host_bytes(shape);
    return 0;
  });
}

int substrata_myrinet_configure_host(const substrata_myrinet_shape* wanted,
                                     const substrata_myrinet_host* host) {
  return command([&](Recorder& self) {
    Shape shape;
    HostLayout layout;
    std::string wrong;
    if (!read_host(wanted, host, &shape, &layout, &wrong)) return fail(Code::kInvalid, "%s", wrong.c_str());
    if (const uint64_t bytes = bytes_of(shape, layout); bytes > SUBSTRATA_MYRINET_SRAM_BYTES) {
      return fail(Code::kInvalid,
                  "sums, cache and packet records would take %llu bytes of each interface, whose memory has "
                  "%u; ask for fewer lines, records, lengths, nodes or programs",
                  static_cast<unsigned long long>(bytes), SUBSTRATA_MYRINET_SRAM_BYTES);
    }
    // The model holds what is on the interfaces as well.
    const uint64_t bytes = (layout.host_bytes(shape) + layout.interface_bytes(shape)) * shape.nodes;
    if (bytes > kMostModelBytes) {
      return fail(Code::kNoMemory,
                  "the histograms and records would take %llu MiB of host memory, 1024 are possible",
                  static_cast<unsigned long long>(bytes >> 20));
    }
    const std::lock_guard lock(self.commands);
    if (self.recording)
      return fail(Code::kRunning, "the shape cannot change while the monitor records; stop it first");
    self.replace(nullptr, std::make_unique<OperationMemory>(shape.nodes, shape.programs),
                 std::make_shared<HostStore>(shape, layout));
    return 0;
  });
}

}  // extern "C"
