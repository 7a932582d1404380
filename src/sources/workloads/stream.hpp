// Streams of bytes between two processes, made of messages: the sockets-like layer of a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sources/workloads/process.hpp"

namespace substrata::workloads {

struct StreamSettings {
  std::uint32_t window = 16384;  // bytes of the receive buffer each side offers; at least 1
  std::uint32_t segment = 4096;  // most bytes of one message; at least 1
};

// One end of a connection between two different processes: bytes arrive in their order and without
// boundaries. A writer sends no more than the reader can buffer (credits, which the reader
// gives back when half its buffer was read), and waits where there is none; so two ends that both write more
// than a window before they read wait for ever, as with sockets. Thread-bound as the process, which it must
// not outlive. Opening, a write, a read and closing are each an operation of the communication layer
// (LayerKind).
class Stream {
 public:
  // Both wait for the other side. `port` distinguishes several connections of a pair; its tags, four for each
  // port from 2^16 on, are the stream's.
  static Stream connect(Process& process, ProcessId to, std::uint32_t port, const StreamSettings& settings) {
    return open(true, process, to, port, settings);
  }
  static Stream accept(Process& process, ProcessId from, std::uint32_t port, const StreamSettings& settings) {
    return open(false, process, from, port, settings);
  }

  // All of it; returns when the last byte has been sent.
  void write(std::span<const std::byte> data);
  // Waits for at least one byte; gives how many were written to `out`, 0 only at the end of the stream or
  // when `out` is empty.
  std::size_t read(std::span<std::byte> out);
  // No more writing: the other end reads the end of the stream. Waits until it has, so what was written has
  // been read. Once; nothing waits for an end that was not closed.
  void close();

  // Messages with data, and messages with credits, that this end sent.
  std::uint64_t segments() const noexcept { return segments_; }
  std::uint64_t credits_sent() const noexcept { return credits_sent_; }

 private:
  enum Tag : std::uint32_t { kConnect, kAccept, kData, kCredit };
  static Stream open(bool connects, Process& process, ProcessId peer, std::uint32_t port,
                     const StreamSettings& settings);
  Stream(Process& process, ProcessId peer, std::uint32_t port, const StreamSettings& settings)
      : process_(process), peer_(peer), port_(port), settings_(settings) {}
  std::uint32_t tag(Tag of) const noexcept { return (std::uint32_t{1} << 16) + port_ * 4 + of; }
  void offer(Tag as);
  void learn(Tag as);
  void take_credit();
  void give_credit(std::uint32_t least);

  Process& process_;
  const ProcessId peer_;
  const std::uint32_t port_;
  const StreamSettings settings_;
  std::uint32_t window_ = 0;   // of the other end
  std::uint32_t credit_ = 0;   // of it, not yet used
  std::vector<std::byte> in_;  // the segment being read
  std::size_t read_ = 0;       // of it
  std::uint32_t owed_ = 0;     // bytes read whose credit has not been given back
  bool ended_ = false;
  std::uint64_t segments_ = 0;
  std::uint64_t credits_sent_ = 0;
};

}  // namespace substrata::workloads
