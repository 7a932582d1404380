// Fuzzes what Owl reads from others: compositions, log packets, pattern packets, recruiting rules, registers
// and descriptions of modules.
#include <substrata/owl.h>
#include <substrata/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

// Bytes taken one after the other; 0 when there are no more.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  uint8_t next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint64_t number() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | next();
    return value >> (next() % 64);
  }
  std::string text() {
    std::string out;
    for (size_t length = next() % 64; length > 0; --length) out += static_cast<char>(next());
    return out;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// A description made of bytes, with everything it points at.
struct Described {
  std::vector<std::string> texts;
  std::vector<substrata_owl_register> registers;
  std::vector<substrata_owl_metric> metrics;
  substrata_owl_module module{};
};

void module_cost(const substrata_owl_module*, const uint64_t*, substrata_owl_cost* out) { *out = {1, 1, 1}; }
const char* module_create(const substrata_owl_module*, const uint64_t*, const substrata_owl_services*,
                          void** instance) {
  *instance = nullptr;
  return nullptr;
}
void module_destroy(void*) {}
void module_observe(void*, const substrata_transaction*, size_t) {}
void module_read(void*, uint64_t*) {}

void describe(Bytes bytes) {
  // What is accepted must stay until the process ends, so that only so many are tried.
  static std::vector<std::unique_ptr<Described>> kept;
  if (kept.size() >= 1000) return;
  auto made = std::make_unique<Described>();
  made->texts.reserve(200);
  const auto text = [&]() -> const char* {
    if (bytes.next() % 16 == 0) return nullptr;
    return made->texts.emplace_back(bytes.text()).c_str();
  };
  substrata_owl_module& m = made->module;
  m.struct_size = bytes.next() % 8 == 0 ? bytes.next() : sizeof m;
  m.abi = bytes.next() % 8 == 0 ? bytes.next() : SUBSTRATA_OWL_MODULE_ABI;
  m.name = text();
  m.summary = text();
  m.packets = text();
  m.register_count = bytes.next() % 40;
  m.metric_count = bytes.next() % 56;
  for (uint32_t i = 0; i < m.register_count; ++i) {
    const char* const name = text();
    made->registers.push_back({name, "a text", bytes.number(), bytes.number(), bytes.number(), 0, 0});
  }
  for (uint32_t i = 0; i < m.metric_count; ++i) made->metrics.push_back({text(), "a text", "", 0, 0});
  m.registers = made->registers.data();
  m.metrics = made->metrics.data();
  m.cost = module_cost;
  m.create = module_create;
  m.destroy = bytes.next() % 8 == 0 ? nullptr : module_destroy;
  m.observe = module_observe;
  m.read = module_read;
  if (substrata_owl_add(&m) == 0) kept.push_back(std::move(made));
}

void attach(const std::string& text) {
  auto options = substrata::client::sized<substrata_owl_capsule_options>();
  options.name = "fuzz";
  options.probes = "fuzz.*";
  options.module = text.size() % 2 == 0 ? "histogram" : "log";
  options.registers = text.c_str();
  options.ring_bytes = 4096;
  substrata_owl_capsule* capsule = nullptr;
  if (substrata_owl_attach(&options, &capsule) == 0) substrata_owl_detach(capsule);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const char* const text = reinterpret_cast<const char*>(data + 1);
  char name[64];
  if (data[0] % 6 == 0) {
    static_cast<void>(substrata_owl_check(text, size - 1, "fuzz", name, sizeof name));
  } else if (data[0] % 6 == 1) {
    uint32_t transactions = 0;
    if (size >= 9) std::memcpy(&transactions, data + 5, 4);
    if (transactions > 100'000) return 0;  // runs of right guesses are only as long as the packet says
    static_cast<void>(substrata_owl_expand_log(
        text, size - 1, [](void*, const substrata_transaction*) {}, nullptr));
  } else if (data[0] % 6 == 2) {
    substrata_owl_rule* rule = nullptr;
    if (substrata_owl_recruit(std::string(text, size - 1).c_str(), &rule) == 0) substrata_owl_dismiss(rule);
  } else if (data[0] % 6 == 3) {
    attach(std::string(text, size - 1));
  } else if (data[0] % 6 == 4) {
    describe(Bytes(data + 1, size - 1));
  } else {
    substrata_owl_expander* expander = nullptr;
    if (substrata_owl_expander_open(&expander) != 0) return 0;
    for (size_t at = 1; at < size;) {
      const size_t length = data[at] < size - at ? data[at] : size - at;
      static_cast<void>(substrata_owl_expander_take(
          expander, data + at, length, [](void*, uint64_t, uint64_t) {}, nullptr));
      at += length + 1;
    }
    substrata_owl_expander_close(expander);
  }
  return 0;
}
