// Histograms in the memory of a node's host: the interface moves lines of them there and back.
#include "myrinet/cluster.hpp"

#include <algorithm>

namespace substrata::myrinet {

// What must be moved first holds up all that the processor does next.
void Cluster::keep_in_store(std::uint32_t index, const Packet& packet, Time earlier_begin, Time earlier_end) {
  const HostStore::Forced forced =
      store_->keep(index, packet.shown,
                   static_cast<std::int64_t>(earlier_end - earlier_begin) / kPicosecondsPerNanosecond);
  Node& node = nodes_[index];
  for (std::uint32_t i = 0; i < forced.lines; ++i) force(node, HostStore::kLineBytes);
  for (std::uint32_t i = 0; i < forced.groups; ++i)
    force(node, HostStore::kRecordsAtOnce * HostStore::kRecordBytes);
  if (node.writing_back || !store_->waits(index)) return;
  node.writing_back = true;
  events_.push(std::max({now_, node.processor_free, node.dma_free}) + parameters_.poll, kWriteBack, index);
}

// The processor begins the DMA and waits for its end.
void Cluster::force(Node& node, std::uint32_t bytes) {
  const Time begin = std::max(now_, node.processor_free) + parameters_.write_back;
  node.processor_free = transfer(node, begin, parameters_.dest_setup, bytes);
  if (!node.ends.empty()) node.ends.back() = node.processor_free;
}

// One DMA, if neither processor nor DMA engine has anything to do.
void Cluster::on_write_back(std::uint32_t index) {
  Node& node = nodes_[index];
  node.writing_back = false;
  if (store_ == nullptr || !store_->waits(index)) return;
  const Time busy = std::max(node.processor_free, node.dma_free);
  if (busy <= now_) {
    const Time begin = occupy(node, now_, parameters_.write_back);
    transfer(node, begin + parameters_.write_back, parameters_.dest_setup, store_->move(index));
    if (!store_->waits(index)) return;
  }
  node.writing_back = true;
  events_.push(std::max({now_, node.processor_free, node.dma_free}) + parameters_.poll, kWriteBack, index);
}

}  // namespace substrata::myrinet
