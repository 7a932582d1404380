// Finds for each completed request the receive that it was, also of persistent requests and matched probes.
#include "sources/mpi/requests.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "sources/mpi/call_time.hpp"
#include "sources/mpi/completion_callbacks.hpp"
#include "sources/mpi/messages.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

void account_receive(Shim& self, const PostedReceive& receive, const MPI_Status& status) {
  const Communicator& among = *receive.among;
  const int source = world_rank(among, status.MPI_SOURCE);
  if (source >= 0) {
    const uint64_t channel = channel_of(among.id, status.MPI_TAG);
    const uint64_t ordinal =
        receive.numbered ? receive.ordinal : self.channels.next_received(source, channel)++;
    if (arrived(self, source, channel, ordinal, 0, receive.site)) return;
  }
  int bytes = 0;
  if (pmpi().Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
  arrived_unknown(self, source, static_cast<uint64_t>(bytes), 0, receive.site);
}

bool fits(const PostedReceive& receive, const MPI_Status& status) {
  return (receive.source == MPI_ANY_SOURCE || receive.source == status.MPI_SOURCE) &&
         (receive.tag == MPI_ANY_TAG || receive.tag == status.MPI_TAG);
}

// A posted receive is over.
void close_wildcard(Shim& self, const PostedReceive& receive) {
  if (receive.is_open_to_any() && self.requests.wildcards != 0) --self.requests.wildcards;
}

// The message that a cancelled receive would have had goes to the next one posted for its channel. One that waits
// in another thread's blocking call is not among those known here.
void give_back(Shim& self, PostedReceive& receive) {
  if (!receive.numbered) return;
  receive.numbered = false;
  struct Place {
    int source;
    uint64_t channel;
    bool operator==(const Place&) const = default;
  };
  const auto place_of = [&](const PostedReceive& one) {
    return Place{world_rank(*one.among, one.source), channel_of(one.among->id, one.tag)};
  };
  const Place own = place_of(receive);
  for (auto& [request, other] : self.requests.receives)
    if (other.numbered && other.ordinal > receive.ordinal && place_of(other) == own) --other.ordinal;
  --self.channels.next_received(own.source, own.channel);
}

// A receive that is not accounted.
PostedReceive unknown() {
  PostedReceive out;
  out.source = MPI_PROC_NULL;
  return out;
}

// The program may have freed the communicator and the data type when it starts it.
struct PersistentSend {
  CommunicatorRecord among;
  int to;
  int tag;
  uint64_t bytes;
};
struct PersistentRequests {
  std::mutex lock;
  std::unordered_map<MPI_Request, PersistentSend> sends;
  std::unordered_map<MPI_Request, PostedReceive> receives;
};
PersistentRequests& persistent() {
  static auto* const one = new PersistentRequests;
  return *one;
}

struct ProbedMessages {
  std::mutex lock;
  std::unordered_map<MPI_Message, PostedReceive> known;
};
ProbedMessages& probed_messages() {
  static auto* const one = new ProbedMessages;
  return *one;
}

// The caller holds the lock.
PostedReceive posted(Shim& self, const CommunicatorRecord& among, int from, int tag, void* site) {
  PostedReceive out{.among = among, .source = from, .tag = tag, .site = site};
  if (from == MPI_PROC_NULL) return out;
  if (out.is_open_to_any()) {
    ++self.requests.wildcards;
    return out;
  }
  // With receives open to any message it is not known yet which of them gets the next one.
  if (self.requests.wildcards != 0) return out;
  const int source = world_rank(*among, from);
  if (source < 0) return out;
  out.ordinal = self.channels.next_received(source, channel_of(among->id, tag))++;
  out.numbered = true;
  return out;
}

}  // namespace

PostedReceive posted(MPI_Comm comm, int from, int tag, void* site) {
  Shim& self = shim();
  if (!self.counting || from == MPI_PROC_NULL) return unknown();
  return unharmed(
      [&] {
        const std::lock_guard guard(self.lock);
        return posted(self, self.channels.communicator(comm), from, tag, site);
      },
      unknown());
}

void received(const PostedReceive& receive, const MPI_Status& status) {
  Shim& self = shim();
  if (!self.counting || receive.source == MPI_PROC_NULL || status.MPI_SOURCE == MPI_PROC_NULL) return;
  unharmed([&] {
    const std::lock_guard guard(self.lock);
    close_wildcard(self, receive);
    account_receive(self, receive, status);
  });
}

void remember(MPI_Request request, PostedReceive receive) {
  Shim& self = shim();
  if (!self.counting) return;
  unharmed([&] {
    const std::lock_guard guard(self.lock);
    Requests& all = self.requests;
    receive.age = ++all.remembered;
    const auto known = all.receives.find(request);
    if (known != all.receives.end() && (known->second.persistent || !self.lock.is_needed())) {
      known->second = receive;
    } else if (all.spare.empty()) {
      all.receives.emplace(request, receive);
    } else {
      all.spare.key() = request;
      all.spare.mapped() = receive;
      all.receives.insert(std::move(all.spare));
    }
    all.any.store(true, std::memory_order_relaxed);
    if (all.have_callbacks && !receive.persistent && add_callback(request)) ++all.with_callback;
  });
}

void completed_by_callback(MPI_Request request, const MPI_Status& status) {
  Shim& self = shim();
  --self.requests.with_callback;
  if (!self.counting) return;
  if (status.MPI_ERROR != MPI_SUCCESS || !quick_tests.asks_for(request)) {
    // The program does not know yet: the test or wait that completes it will be looked at.
    stop_quick_tests();
    return;
  }
  completed(request, status);
  if (this_thread.has_noticed) account_noticed();
}

void completed(MPI_Request request, const MPI_Status& status) {
  Shim& self = shim();
  unharmed([&] {
    const std::lock_guard guard(self.lock);
    Requests& all = self.requests;
    const auto [first, last] = all.receives.equal_range(request);
    if (first == last) return;
    // Of several the oldest that the message fits.
    auto found = first;
    for (auto other = std::next(first); other != last; ++other)
      if (fits(other->second, status) &&
          (!fits(found->second, status) || other->second.age < found->second.age))
        found = other;
    PostedReceive receive = found->second;
    all.spare = all.receives.extract(found);  // a persistent one comes back when it is started again
    if (all.receives.empty()) all.any.store(false, std::memory_order_relaxed);
    if (!self.counting || receive.source == MPI_PROC_NULL || status.MPI_SOURCE == MPI_PROC_NULL) return;
    close_wildcard(self, receive);
    int given_up = 0;
    pmpi().Test_cancelled(&status, &given_up);
    if (given_up)
      give_back(self, receive);
    else
      account_receive(self, receive, status);
  });
}

void cancelled(MPI_Request request) {
  if (!watches_requests()) return;
  int done = 0;
  int given_up = 0;
  MPI_Status status;
  if (pmpi().Request_get_status(request, &done, &status) != MPI_SUCCESS || !done) return;
  pmpi().Test_cancelled(&status, &given_up);
  if (!given_up) return;
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    const auto [first, last] = self.requests.receives.equal_range(request);
    const auto youngest = std::max_element(
        first, last, [](const auto& a, const auto& b) { return a.second.age < b.second.age; });
    if (youngest != last) give_back(self, youngest->second);
  });
}

void forget(MPI_Request request) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  Requests& all = self.requests;
  if (all.have_callbacks && remove_callback(request)) --all.with_callback;
  all.receives.erase(request);
  all.any.store(!all.receives.empty(), std::memory_order_relaxed);
}

namespace {
CommunicatorRecord record_of(MPI_Comm comm) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  return self.channels.communicator(comm);
}
}  // namespace

void persistent_send(MPI_Request request, MPI_Comm comm, int to, int tag, int count, MPI_Datatype type) {
  unharmed([&] {
    const PersistentSend one{record_of(comm), to, tag, bytes_of(static_cast<size_t>(count), type)};
    const std::lock_guard guard(persistent().lock);
    persistent().sends[request] = one;
  });
}

void persistent_receive(MPI_Request request, MPI_Comm comm, int from, int tag) {
  unharmed([&] {
    const PostedReceive one{.among = record_of(comm), .source = from, .tag = tag};
    const std::lock_guard guard(persistent().lock);
    persistent().receives[request] = one;
  });
}

void started(MPI_Request request, void* site) {
  PersistentRequests& all = persistent();
  const std::lock_guard guard(all.lock);
  if (const auto found = all.sends.find(request); found != all.sends.end()) {
    const PersistentSend& send = found->second;
    Shim& self = shim();
    const std::lock_guard account_guard(self.lock);
    if (self.counting) account(self, *send.among, send.to, send.bytes, send.tag, 0, site);
  } else if (const auto receive = all.receives.find(request); receive != all.receives.end()) {
    const PostedReceive& about = receive->second;
    PostedReceive one;
    {
      Shim& self = shim();
      const std::lock_guard account_guard(self.lock);
      one = posted(self, about.among, about.source, about.tag, site);
    }
    one.persistent = true;
    remember(request, std::move(one));
  }
}

void persistent_freed(MPI_Request request) {
  const std::lock_guard guard(persistent().lock);
  persistent().sends.erase(request);
  persistent().receives.erase(request);
}

void probed(MPI_Message message, MPI_Comm comm, const MPI_Status& status) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL) return;
  const PostedReceive one = posted(comm, status.MPI_SOURCE, status.MPI_TAG, nullptr);
  unharmed([&] {
    ProbedMessages& all = probed_messages();
    const std::lock_guard guard(all.lock);
    all.known[message] = one;
  });
}

PostedReceive matched(const MPI_Message* message, void* site) {
  if (message == nullptr) return unknown();
  return unharmed(
      [&] {
        ProbedMessages& all = probed_messages();
        const std::lock_guard guard(all.lock);
        const auto found = all.known.find(*message);
        if (found == all.known.end()) return unknown();
        PostedReceive out = found->second;
        out.site = site;
        all.known.erase(found);
        return out;
      },
      unknown());
}

}  // namespace substrata::mpi
