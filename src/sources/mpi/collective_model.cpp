// The textbook algorithms of collective operations: trees, rings and exchanges, as lists of messages.
#include "sources/mpi/collective_model.hpp"

#include <algorithm>

namespace substrata::mpi {

namespace {

// Children of a rank in the binomial tree over ranks relative to the root, nearest power last.
void add_children(std::vector<ModelledMessage>& out, int me, int size, int root, uint64_t bytes,
                  bool whole_subtree) {
  const int relative = (me - root + size) % size;
  for (int step = 1; step < size; step *= 2) {
    if (relative & step) break;
    const int child = relative + step;
    if (child >= size) continue;
    const int subtree = std::min(step, size - child);
    out.push_back({(child + root) % size, whole_subtree ? bytes * static_cast<uint64_t>(subtree) : bytes});
  }
}

// The message to the parent in the same tree; the root has none.
void add_parent(std::vector<ModelledMessage>& out, int me, int size, int root, uint64_t bytes,
                bool whole_subtree) {
  const int relative = (me - root + size) % size;
  if (relative == 0) return;
  const int step = relative & -relative;
  const int subtree = std::min(step, size - relative);
  out.push_back(
      {(relative - step + root) % size, whole_subtree ? bytes * static_cast<uint64_t>(subtree) : bytes});
}

}  // namespace

std::vector<ModelledMessage> expand(Collective operation, int me, int size, int root, uint64_t bytes) {
  std::vector<ModelledMessage> out;
  if (size < 2) return out;
  switch (operation) {
    case Collective::kBarrier:
      for (int step = 1; step < size; step *= 2) out.push_back({(me + step) % size, 0});
      break;
    case Collective::kBroadcast:
      add_children(out, me, size, root, bytes, false);
      break;
    case Collective::kReduce:
      add_parent(out, me, size, root, bytes, false);
      break;
    case Collective::kScatter:
      add_children(out, me, size, root, bytes, true);
      break;
    case Collective::kGather:
      add_parent(out, me, size, root, bytes, true);
      break;
    case Collective::kAllreduce: {
      int power = 1;
      while (power * 2 <= size) power *= 2;
      const int extra =
          size - power;  // ranks power.. hand their block to rank - power and get the result back
      if (me >= power) {
        out.push_back({me - power, bytes});
        break;
      }
      for (int step = 1; step < power; step *= 2) out.push_back({me ^ step, bytes});
      if (me < extra) out.push_back({me + power, bytes});
      break;
    }
    case Collective::kAllgather:
      for (int step = 1; step < size; ++step) out.push_back({(me + 1) % size, bytes});
      break;
    case Collective::kAlltoall:
      for (int step = 1; step < size; ++step) out.push_back({(me + step) % size, bytes});
      break;
    case Collective::kScan:
      if (me + 1 < size) out.push_back({me + 1, bytes});
      break;
  }
  return out;
}

std::vector<int> sources_in(Collective operation, int me, int size, int root) {
  std::vector<int> out;
  if (size < 2) return out;
  const int relative = (me - root + size) % size;
  switch (operation) {
    case Collective::kBarrier:
      for (int step = 1; step < size; step *= 2) out.push_back((me - step + size) % size);
      break;
    case Collective::kBroadcast:
    case Collective::kScatter:
      if (relative != 0) out.push_back((relative - (relative & -relative) + root) % size);
      break;
    case Collective::kReduce:
    case Collective::kGather:
      for (int step = 1; step < size && (relative & step) == 0; step *= 2)
        if (relative + step < size) out.push_back((relative + step + root) % size);
      break;
    case Collective::kAllreduce: {
      int power = 1;
      while (power * 2 <= size) power *= 2;
      if (me >= power) {
        out.push_back(me - power);
        break;
      }
      if (me < size - power) out.push_back(me + power);
      for (int step = 1; step < power; step *= 2) out.push_back(me ^ step);
      break;
    }
    case Collective::kAllgather:
      out.assign(static_cast<size_t>(size - 1), (me - 1 + size) % size);
      break;
    case Collective::kAlltoall:
      for (int step = 1; step < size; ++step) out.push_back((me - step + size) % size);
      break;
    case Collective::kScan:
      if (me > 0) out.push_back(me - 1);
      break;
  }
  return out;
}

std::vector<ModelledMessage> expand_pairwise(int me, const std::vector<uint64_t>& blocks) {
  std::vector<ModelledMessage> out;
  const int size = static_cast<int>(blocks.size());
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    if (const uint64_t bytes = blocks[static_cast<size_t>(to)]; bytes != 0) out.push_back({to, bytes});
  }
  return out;
}

std::vector<ModelledMessage> expand_ring(int me, const std::vector<uint64_t>& blocks) {
  std::vector<ModelledMessage> out;
  const int size = static_cast<int>(blocks.size());
  for (int step = 0; step < size - 1; ++step) {
    const uint64_t bytes = blocks[static_cast<size_t>((me - step + size) % size)];
    if (bytes != 0) out.push_back({(me + 1) % size, bytes});
  }
  return out;
}

std::vector<int> sources_pairwise(int me, const std::vector<uint64_t>& blocks) {
  std::vector<int> out;
  for (const ModelledMessage& message : expand_pairwise(me, blocks)) out.push_back(message.to);
  return out;
}

std::vector<int> sources_ring(int me, const std::vector<uint64_t>& blocks) {
  std::vector<int> out;
  const int size = static_cast<int>(blocks.size());
  const int before = (me - 1 + size) % size;
  for (const ModelledMessage& message : expand_ring(before, blocks)) {
    static_cast<void>(message);
    out.push_back(before);
  }
  return out;
}

}  // namespace substrata::mpi
