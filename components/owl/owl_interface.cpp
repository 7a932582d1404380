// The C interface of include/substrata/owl.h.
#include <substrata/owl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/guard.hpp"
#include "owl/capsule.hpp"
#include "owl/composition.hpp"
#include "owl/library.hpp"
#include "owl/log_codec.hpp"
#include "owl/objects.hpp"
#include "owl/pattern.hpp"
#include "owl/recruiting.hpp"

using namespace substrata;
using namespace substrata::owl;

namespace {

// Copies a filled-in structure into the caller's, who may know a shorter or longer one.
template <typename T>
int give(const T& filled, T* out) noexcept {
  if (out == nullptr || out->struct_size < sizeof(uint32_t)) {
    return fail(Code::kInvalid, "the structure to fill in needs its struct_size");
  }
  const uint32_t size = out->struct_size;
  std::memcpy(static_cast<void*>(out), &filled, std::min<size_t>(size, sizeof filled));
  out->struct_size = size;
  return 0;
}

int describe(const LibraryEntry& entry, substrata_owl_module_info* out) noexcept {
  const Module& module = *entry.module;
  uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  for (uint32_t i = 0; i < module.register_count; ++i) registers[i] = module.registers[i].initial;
  substrata_owl_module_info info{};
  info.register_count = module.register_count;
  info.metric_count = module.metric_count;
  info.name = module.name;
  info.summary = module.summary;
  info.packets = module.packets;
  info.origin = entry.origin.c_str();
  info.registers = module.registers;
  info.metrics = module.metrics;
  module.cost(&module, registers, &info.cost);
  return give(info, out);
}

int need_capsule() noexcept { return fail(Code::kInvalid, "there is no capsule"); }
int need_reader() noexcept { return fail(Code::kInvalid, "there is no reader"); }

// Of a capsule or of a reader.
template <typename Registers>
int write_register(Registers& of, const char* name, uint64_t value) {
  if (name == nullptr) return fail(Code::kInvalid, "a register's name is needed");
  return of.write_register(name, value);
}
template <typename Registers>
int write_registers(Registers& of, const char* assignments) noexcept {
  return guarded([&] {
    if (assignments == nullptr) return fail(Code::kInvalid, "values for registers are needed");
    return of.write_registers(assignments);
  });
}

}  // namespace

extern "C" {

const char* substrata_owl_error(void) { return last_refusal(); }

uint32_t substrata_owl_module_count(void) {
  return guarded([] { return static_cast<uint32_t>(all_modules().size()); });
}

int substrata_owl_module_at(uint32_t index, substrata_owl_module_info* out) {
  return guarded([&] {
    const auto all = all_modules();
    if (index >= all.size())
      return fail(Code::kInvalid, "module %u was asked for; there are %zu", index, all.size());
    return describe(*all[index], out);
  });
}

int substrata_owl_module_find(const char* name, substrata_owl_module_info* out) {
  return guarded([&] {
    const LibraryEntry* const entry = name != nullptr ? find_module(name) : nullptr;
    if (entry == nullptr)
      return fail(Code::kNoEvent, "there is no module '%.80s'", name != nullptr ? name : "");
    return describe(*entry, out);
  });
}

int substrata_owl_load(const char* path) {
  return guarded([&] {
    if (path == nullptr) return fail(Code::kInvalid, "substrata_owl_load needs a path");
    return load_modules(path);
  });
}

int substrata_owl_add(const substrata_owl_module* module) {
  return guarded([&] {
    if (const char* wrong = objection(module))
      return fail(Code::kInvalid, "the module is refused: %s", wrong);
    return add_modules({module}, "the program");
  });
}

int substrata_owl_unload(const char* name) {
  return guarded([&] {
    if (name == nullptr) return fail(Code::kInvalid, "substrata_owl_unload needs a module's name");
    return remove_module(name);
  });
}

const char* substrata_owl_refusal(uint32_t index) {
  return guarded([&] { return refusal_at(index); });
}

int substrata_owl_compose(const char* text, size_t bytes, const char* origin) {
  return guarded([&] {
    if (text == nullptr) return fail(Code::kInvalid, "substrata_owl_compose needs a text");
    return compose_and_add(std::string_view(text, bytes), origin != nullptr ? origin : "text");
  });
}

int substrata_owl_check(const char* text, size_t bytes, const char* origin, char* name, size_t capacity) {
  return guarded([&] {
    if (text == nullptr) return fail(Code::kInvalid, "substrata_owl_check needs a text");
    std::string found;
    if (const int refused =
            check_composition(std::string_view(text, bytes), origin != nullptr ? origin : "text", &found)) {
      return refused;
    }
    if (name == nullptr) return 0;
    if (capacity <= found.size())
      return fail(Code::kBufferTooSmall, "the module's name has %zu bytes", found.size());
    std::memcpy(name, found.c_str(), found.size() + 1);
    return 0;
  });
}

int substrata_owl_load_folder(const char* folder) {
  return guarded([&] {
    if (folder == nullptr) return fail(Code::kInvalid, "substrata_owl_load_folder needs a folder");
    return load_folder(folder);
  });
}

int substrata_owl_attach(const substrata_owl_capsule_options* options, substrata_owl_capsule** out) {
  return guarded([&] {
    if (options == nullptr || out == nullptr || options->struct_size < sizeof(uint32_t)) {
      return fail(Code::kInvalid,
                  "substrata_owl_attach needs options with their struct_size, and a place for the capsule");
    }
    substrata_owl_capsule_options whole{};
    std::memcpy(&whole, options, std::min<size_t>(options->struct_size, sizeof whole));
    Capsule* made = nullptr;
    if (const int refused = attach_capsule(whole, &made)) return refused;
    *out = static_cast<substrata_owl_capsule*>(made);
    return 0;
  });
}

int substrata_owl_start(substrata_owl_capsule* capsule) {
  return guarded([&] { return capsule != nullptr ? capsule->start() : need_capsule(); });
}

int substrata_owl_stop(substrata_owl_capsule* capsule) {
  if (capsule == nullptr) return need_capsule();
  capsule->stop();
  return 0;
}

void substrata_owl_detach(substrata_owl_capsule* capsule) { delete capsule; }

int substrata_owl_write_back(substrata_owl_capsule* capsule) {
  return guarded([&] { return capsule != nullptr ? capsule->write_back() : need_capsule(); });
}

int substrata_owl_read_register(substrata_owl_capsule* capsule, const char* name, uint64_t* value) {
  if (capsule == nullptr) return need_capsule();
  if (name == nullptr || value == nullptr)
    return fail(Code::kInvalid, "a register's name and a place for it are needed");
  return capsule->read_register(name, value);
}

int substrata_owl_write_register(substrata_owl_capsule* capsule, const char* name, uint64_t value) {
  return capsule != nullptr ? write_register(*capsule, name, value) : need_capsule();
}

int substrata_owl_write_registers(substrata_owl_capsule* capsule, const char* assignments) {
  return capsule != nullptr ? write_registers(*capsule, assignments) : need_capsule();
}

int substrata_owl_read_statistics(substrata_owl_capsule* capsule, substrata_owl_statistics* out) {
  if (capsule == nullptr) return need_capsule();
  substrata_owl_statistics filled{};
  capsule->statistics(&filled);
  return give(filled, out);
}

int substrata_owl_read_metric(substrata_owl_capsule* capsule, const char* name, uint64_t* value) {
  if (capsule == nullptr) return need_capsule();
  if (name == nullptr || value == nullptr)
    return fail(Code::kInvalid, "a metric's name and a place for it are needed");
  return capsule->metric(name, value);
}

int substrata_owl_on_near_full(substrata_owl_capsule* capsule, void (*call)(void*, substrata_owl_capsule*),
                               void* owner) {
  if (capsule == nullptr) return need_capsule();
  capsule->on_near_full(call, owner);
  return 0;
}

int substrata_owl_on_signal(substrata_owl_capsule* capsule,
                            void (*call)(void*, const substrata_transaction*, uint32_t), void* owner) {
  if (capsule == nullptr) return need_capsule();
  capsule->on_signal(call, owner);
  return 0;
}

const char* substrata_owl_ring_path(substrata_owl_capsule* capsule) {
  return capsule != nullptr ? capsule->ring_path() : nullptr;
}

int substrata_owl_reader_open(const char* path, uint32_t flags, substrata_owl_reader** out) {
  return guarded([&] {
    if (path == nullptr || out == nullptr || (flags & ~static_cast<uint32_t>(SUBSTRATA_OWL_WATCH)) != 0) {
      return fail(Code::kInvalid, "a reader needs the ring's path, known flags and a place for the result");
    }
    auto reader = std::make_unique<substrata_owl_reader>();
    if (const int refused = reader->open(path, flags)) return refused;
    *out = reader.release();
    return 0;
  });
}

void substrata_owl_reader_close(substrata_owl_reader* reader) { delete reader; }

int substrata_owl_reader_peek(substrata_owl_reader* reader, substrata_owl_packet* packet, void* data,
                              size_t capacity) {
  if (reader == nullptr) return need_reader();
  if (packet == nullptr || (data == nullptr && capacity != 0))
    return fail(Code::kInvalid, "peeking needs a place for a packet");
  return reader->peek(packet, data, capacity);
}

void substrata_owl_reader_consume(substrata_owl_reader* reader) {
  if (reader != nullptr) reader->consume();
}

uint64_t substrata_owl_reader_lost(substrata_owl_reader* reader) {
  return reader != nullptr ? reader->lost() : 0;
}

int substrata_owl_reader_wait(substrata_owl_reader* reader, uint32_t milliseconds) {
  return reader != nullptr ? reader->wait(milliseconds) : need_reader();
}

int substrata_owl_reader_write_register(substrata_owl_reader* reader, const char* name, uint64_t value) {
  return reader != nullptr ? write_register(*reader, name, value) : need_reader();
}

int substrata_owl_reader_write_registers(substrata_owl_reader* reader, const char* assignments) {
  return reader != nullptr ? write_registers(*reader, assignments) : need_reader();
}

int substrata_owl_object_add(const char* name, uint64_t address, uint64_t bytes) {
  return guarded([&] {
    if (name == nullptr || *name == '\0' || bytes == 0)
      return fail(Code::kInvalid, "an object needs a name and a size");
    add_object(name, address, bytes);
    return 0;
  });
}

const char* substrata_owl_object_at(uint64_t address) { return object_at(address); }
void substrata_owl_objects_clear(void) { clear_objects(); }

int substrata_owl_expand_log(const void* packet, size_t bytes,
                             void (*call)(void*, const substrata_transaction*), void* owner) {
  return guarded([&] {
    if (packet == nullptr || call == nullptr)
      return fail(Code::kInvalid, "expanding needs a packet and a function");
    size_t offset = 0;
    if (const char* wrong = decode_log(packet, bytes, call, owner, &offset)) {
      return fail(Code::kInvalid, "a log packet is damaged at byte %zu: %s", offset, wrong);
    }
    return 0;
  });
}

}  // extern "C"
