// Connection, segments and credits of a stream.
#include "sources/workloads/stream.hpp"

#include <algorithm>
#include <utility>

namespace substrata::workloads {

Stream Stream::open(bool connects, Process& process, ProcessId peer, std::uint32_t port,
                    const StreamSettings& settings) {
  const Procedure operation(process, 0, LayerKind::kStreamOpen);
  Stream made(process, peer, port, settings);
  if (connects) made.offer(kConnect);
  made.learn(connects ? kAccept : kConnect);
  if (!connects) made.offer(kAccept);
  return made;
}

void Stream::offer(Tag as) {
  process_.send_values(peer_, tag(as), std::span<const std::uint32_t>(&settings_.window, 1));
}

void Stream::learn(Tag as) {
  process_.receive_values(peer_, tag(as), std::span<std::uint32_t>(&window_, 1));
  credit_ = window_;
}

void Stream::take_credit() {
  std::uint32_t given = 0;
  process_.receive_values(peer_, tag(kCredit), std::span<std::uint32_t>(&given, 1));
  credit_ += given;
}

void Stream::give_credit(std::uint32_t least) {
  if (owed_ < least) return;
  process_.send_values(peer_, tag(kCredit), std::span<const std::uint32_t>(&owed_, 1));
  owed_ = 0;
  ++credits_sent_;
}

void Stream::write(std::span<const std::byte> data) {
  if (data.empty()) return;
  const Procedure operation(process_, 0, LayerKind::kStreamWrite);
  while (!data.empty()) {
    while (credit_ == 0) take_credit();
    const std::size_t now = std::min({data.size(), std::size_t{settings_.segment}, std::size_t{credit_}});
    process_.send(peer_, tag(kData), data.first(now));
    ++segments_;
    credit_ -= static_cast<std::uint32_t>(now);
    data = data.subspan(now);
  }
}

std::size_t Stream::read(std::span<std::byte> out) {
  if (ended_ || out.empty()) return 0;
  const Procedure operation(process_, 0, LayerKind::kStreamRead);
  if (read_ == in_.size()) {
    in_ = process_.receive(peer_, tag(kData)).payload;
    read_ = 0;
    if (in_.empty()) {  // the end: what is owed lets the writer's close return
      ended_ = true;
      give_credit(1);
      return 0;
    }
  }
  const std::size_t now = std::min(out.size(), in_.size() - read_);
  std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(read_), now, out.begin());
  read_ += now;
  owed_ += static_cast<std::uint32_t>(now);
  give_credit(std::max(settings_.window / 2, 1u));
  return now;
}

void Stream::close() {
  const Procedure operation(process_, 0, LayerKind::kStreamClose);
  process_.send(peer_, tag(kData), {});
  while (credit_ < window_) take_credit();
}

}  // namespace substrata::workloads
