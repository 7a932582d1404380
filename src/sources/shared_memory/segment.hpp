// The memory file between the processes of shared pages: home copies, versions, locks, a barrier, and who is
// alive.
#pragma once

#include <substrata/shared_pages.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace substrata::pages {

struct Geometry {
  uint32_t processes = 0, page_bytes = 0;
  uint64_t pages = 0;
  uint64_t bytes() const noexcept { return pages * page_bytes; }
  // By block.
  uint32_t home(uint64_t page) const noexcept { return static_cast<uint32_t>(page * processes / pages); }
};

// One process's hold on the file. Each process keeps a record lock on the byte of its own number, which the
// system drops when it ends however it ends: that is how the others know.
class Segment {
 public:
  // Joins and waits for the others. nullptr: *code says why, with the message kept by feed::fail.
  static std::unique_ptr<Segment> join(const std::string& name, const Geometry& geometry, uint32_t process,
                                       uint32_t wait_ms, int* code);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // The home copies, shared by all.
  unsigned char* home_copies() const noexcept { return home_; }
  int descriptor() const noexcept { return descriptor_; }
  uint64_t home_offset() const noexcept { return home_offset_; }
  // Grows with every change of a page's home copy.
  std::atomic<uint32_t>& version(uint64_t page) const noexcept { return versions_[page]; }

  // 0, or a code with its message.
  int lock(uint32_t lock);
  int unlock(uint32_t lock);
  int barrier();
  int usable() const;

 private:
  struct Control;
  Segment() = default;
  bool present(uint32_t process) const noexcept;
  int break_down(uint32_t process, const char* while_what);

  std::string name_;
  std::string path_;
  Geometry geometry_;
  uint32_t process_ = 0;
  int descriptor_ = -1;
  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
  Control* control_ = nullptr;
  std::atomic<uint32_t>* versions_ = nullptr;
  unsigned char* home_ = nullptr;
  uint64_t home_offset_ = 0;
};

}  // namespace substrata::pages
