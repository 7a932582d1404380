// Every publishing library and event of the process: names to numbers and handles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fork_lock.hpp"
#include "papi/sde/counter.hpp"

namespace substrata::sde {

// A publishing library; stays for ever, so that a handle kept past papi_sde_shutdown is refused, not
// followed.
struct Library {
  static constexpr std::uint64_t kMark = 0x5344452d4c494252;
  const std::uint64_t mark = kMark;
  std::string name;
  std::atomic<bool> open{true};
  std::vector<Counter*> counters;
};

// The one registry of the process; lives as long as it. Looking an event up by number takes no lock.
// Thread-safe.
class Registry {
 public:
  static Registry& instance();

  Library* open_library(std::string_view name);
  int close_library(Library& library);

  // Puts a source behind a name. Refused with SDE_EINVAL when the name is taken by another class; taken by
  // the same, the first stays. *counter gets who has the name.
  int publish(Library& library, std::string_view event, std::unique_ptr<Source> source, Counter** counter);
  int unpublish(Library& library, std::string_view event);
  int describe(Library& library, std::string_view event, const char* text);
  int add_to_group(Library& library, std::string_view event, std::string_view group, std::uint32_t flags);
  // A recorder with its count and quartiles, all or none of them.
  int publish_recorder(Library& library, std::string_view event, std::size_t value_size,
                       Recorder::Compare compare, Counter** counter);

  // The counter of a name that was published or asked for; null if there is none.
  Counter* find(const Library& library, std::string_view event);
  // The counter of "LIBRARY::EVENT"; one that waits for its program is made where there is none.
  int find_or_await(std::string_view full_name, Counter** counter);

  std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  // Null for a number never given. No lock.
  Counter* at(std::uint32_t id) const noexcept;

 private:
  // Numbers are kept in blocks that never move: block b holds kFirstBlock * 2^b of them.
  static constexpr std::uint32_t kFirstBlock = 64;
  static constexpr std::size_t kBlocks = 26;
  using Slot = std::atomic<Counter*>;

  class Releases;  // former sources, released after the lock is

  Counter* counter_of(Library& library, std::string_view event);
  Library& library_of(std::string_view name);
  int publish_locked(Library& library, std::string_view event, std::unique_ptr<Source>& source,
                     Counter** counter);
  void withdraw(Counter& counter, Releases& releases);
  const char* intern(std::string_view text);

  ForkLock mutex_;
  std::unordered_map<std::string, std::unique_ptr<Library>> libraries_;
  std::unordered_map<std::string, Counter*> by_name_;
  std::unordered_set<std::string> texts_;
  std::vector<std::unique_ptr<Counter>> counters_;
  std::array<std::atomic<Slot*>, kBlocks> blocks_{};
  std::vector<std::unique_ptr<Slot[]>> block_memory_;
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace substrata::sde
