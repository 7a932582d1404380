// The MPI functions that the shim stands before, and the output functions in which it looks for section
// marks.
//
// Open MPI's Fortran bindings call the PMPI_ names of the C functions, so there the shim stands before both
// names; MPICH's call the MPI_ names. A call within a call is passed on untouched.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "shim.hpp"

namespace substrata::mpi {
namespace {

// The next definition of a function after ours: another tool's, or the library's own.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Copies of request handles from before a call that may clear them; nothing when no request is watched.
class Before {
 public:
  Before(const MPI_Request* requests, int count) {
    if (count <= 0 || !watches_requests()) return;
    size_ = static_cast<size_t>(count);
    MPI_Request* to = few_.data();
    if (size_ > few_.size()) {
      many_.resize(size_);
      to = many_.data();
    }
    std::copy(requests, requests + count, to);
  }
  bool any() const { return size_ != 0; }
  MPI_Request operator[](int index) const {
    const auto at = static_cast<size_t>(index);
    return many_.empty() ? few_[at] : many_[at];
  }

 private:
  size_t size_ = 0;
  std::array<MPI_Request, 16> few_;  // its first size_ entries are filled
  std::vector<MPI_Request> many_;
};

// Room for statuses when the program wants none.
class Statuses {
 public:
  Statuses(MPI_Status* wanted, int count, bool needed) : given_(wanted) {
    if (wanted != MPI_STATUSES_IGNORE || !needed) return;
    given_ = few_.data();
    if (static_cast<size_t>(count) <= few_.size()) return;
    many_.resize(static_cast<size_t>(count));
    given_ = many_.data();
  }
  MPI_Status* data() { return given_; }
  const MPI_Status& operator[](int index) const { return given_[index]; }

 private:
  MPI_Status* given_;
  std::array<MPI_Status, 16> few_;
  std::vector<MPI_Status> many_;
};

// Of MPI_Test: which of its requests is done.
constexpr int kFirst = 0;

struct Place {
  int me = 0;
  int size = 1;
  bool usable = false;  // level 1, and one group of ranks
};
Place place_in(MPI_Comm comm) {
  Place out;
  if (!level_one()) return out;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return out;
  PMPI_Comm_rank(comm, &out.me);
  PMPI_Comm_size(comm, &out.size);
  out.usable = true;
  return out;
}

// Bytes of each rank's block.
std::vector<uint64_t> blocks_of(const int* counts, int size, MPI_Datatype type) {
  const uint64_t unit = bytes_of(1, type);
  std::vector<uint64_t> out(static_cast<size_t>(size));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint64_t>(counts[i]) * unit;
  return out;
}
std::vector<uint64_t> blocks_of(const int* counts, int size, const MPI_Datatype* types) {
  std::vector<uint64_t> out(static_cast<size_t>(size));
  for (size_t i = 0; i < out.size(); ++i) out[i] = bytes_of(static_cast<size_t>(counts[i]), types[i]);
  return out;
}

void called_gatherv(bool in_place, int count, MPI_Datatype type, const int* counts, MPI_Datatype out_type,
                    int root, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  std::vector<ModelledMessage> messages;
  std::vector<int> sources;
  if (at.me == root) {
    sources = sources_pairwise(at.me, blocks_of(counts, at.size, out_type));
  } else if (const uint64_t bytes = bytes_of(static_cast<size_t>(count), type); bytes != 0 && !in_place) {
    messages.push_back({root, bytes});
  }
  called_collective(comm, messages, sources, site);
}
void called_scatterv(const int* counts, MPI_Datatype type, int out_count, MPI_Datatype out_type, int root,
                     MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  std::vector<ModelledMessage> messages;
  std::vector<int> sources;
  if (at.me == root)
    messages = expand_pairwise(at.me, blocks_of(counts, at.size, type));
  else if (bytes_of(static_cast<size_t>(out_count), out_type) != 0)
    sources.push_back(root);
  called_collective(comm, messages, sources, site);
}
void called_allgatherv(const int* counts, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> blocks = blocks_of(counts, at.size, type);
  called_collective(comm, expand_ring(at.me, blocks), sources_ring(at.me, blocks), site);
}
template <typename Type>
void called_alltoallv(bool in_place, const int* counts, Type type, const int* in_counts, Type in_type,
                      MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> in = blocks_of(in_counts, at.size, in_type);
  called_collective(comm, expand_pairwise(at.me, in_place ? in : blocks_of(counts, at.size, type)),
                    sources_pairwise(at.me, in), site);
}
// Every rank gives each other its part of the operands.
void called_reduce_scatter(const int* counts, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> blocks = blocks_of(counts, at.size, type);
  const std::vector<uint64_t> mine(blocks.size(), blocks[static_cast<size_t>(at.me)]);
  called_collective(comm, expand_pairwise(at.me, blocks), sources_pairwise(at.me, mine), site);
}
void called_reduce_scatter_block(int count, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<int> counts(static_cast<size_t>(at.size), count);
  called_reduce_scatter(counts.data(), type, comm, site);
}
uint64_t block(int count, MPI_Datatype type) {
  return level_one() ? bytes_of(static_cast<size_t>(count), type) : 0;
}

// Persistent requests of the program, seen when they are started, at both levels.
struct PersistentSend {
  MPI_Comm comm;
  int to;
  int tag;
  int count;
  MPI_Datatype type;
};
struct PersistentSends {
  std::mutex lock;
  std::unordered_map<MPI_Request, PersistentSend> known;
  std::unordered_map<MPI_Request, PostedReceive> receives;
};
PersistentSends& persistent() {
  static auto* one = new PersistentSends;
  return *one;
}
void started(MPI_Request request, void* site) {
  PersistentSends& all = persistent();
  const std::lock_guard guard(all.lock);
  if (const auto found = all.known.find(request); found != all.known.end()) {
    const PersistentSend& send = found->second;
    Shim& self = shim();
    const std::lock_guard account_guard(self.lock);
    if (self.counting)
      account(self, send.comm, send.to, bytes_of(static_cast<size_t>(send.count), send.type), send.tag, 0,
              site);
  } else if (const auto receive = all.receives.find(request); receive != all.receives.end()) {
    PostedReceive one = posted(receive->second.comm, receive->second.source, receive->second.tag, site);
    one.persistent = true;
    remember(request, one);
  }
}

// Messages that a matched probe has found, until they are received.
struct ProbedMessages {
  std::mutex lock;
  std::unordered_map<MPI_Message, PostedReceive> known;
};
ProbedMessages& probed_messages() {
  static auto* one = new ProbedMessages;
  return *one;
}
void probed(MPI_Message message, MPI_Comm comm, const MPI_Status& status) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL) return;
  const PostedReceive one = posted(comm, status.MPI_SOURCE, status.MPI_TAG, nullptr);
  ProbedMessages& all = probed_messages();
  const std::lock_guard guard(all.lock);
  all.known[message] = one;
}
PostedReceive matched(MPI_Message message, void* site) {
  ProbedMessages& all = probed_messages();
  const std::lock_guard guard(all.lock);
  PostedReceive out;
  out.source = MPI_PROC_NULL;  // a message that is not known is not told
  if (const auto found = all.known.find(message); found != all.known.end()) {
    out = found->second;
    out.site = site;
    all.known.erase(found);
  }
  return out;
}

}  // namespace

bool find_quick_tests() {
  quick_tests.test = next<decltype(MPI_Test)>("MPI_Test");
  quick_tests.test_any = next<decltype(MPI_Testany)>("MPI_Testany");
  return quick_tests.test == next<decltype(MPI_Test)>("PMPI_Test") &&
         quick_tests.test_any == next<decltype(MPI_Testany)>("PMPI_Testany");
}

}  // namespace substrata::mpi

using namespace substrata::mpi;

// clang-format off
#define EXPORT extern "C" __attribute__((visibility("default")))
#define STAND_BEFORE(symbol, guard_type, parameters, arguments, ...)          \
  EXPORT LOOK_AT(symbol, symbol, guard_type, parameters, arguments, __VA_ARGS__)
#define LOOK_AT(name, symbol, guard_type, parameters, arguments, ...)         \
  int name parameters {                                                       \
    static auto* const original = next<decltype(symbol)>(#symbol);            \
    if (Call::inside()) return original arguments;                            \
    [[maybe_unused]] void* const site = __builtin_return_address(0);          \
    [[maybe_unused]] const guard_type guard;                                  \
    __VA_ARGS__                                                               \
  }
#ifdef OPEN_MPI
#define BOTH_NAMES(stand, name, ...) stand(MPI_##name, __VA_ARGS__) stand(PMPI_##name, __VA_ARGS__)
#else
#define BOTH_NAMES(stand, name, ...) stand(MPI_##name, __VA_ARGS__)
#endif
#define EACH(name, guard_type, parameters, arguments, ...)                    \
  BOTH_NAMES(STAND_BEFORE, name, guard_type, parameters, arguments, __VA_ARGS__)
#define CALL(name, parameters, arguments, ...) EACH(name, Call, parameters, arguments, __VA_ARGS__)
#define POLL(name, parameters, arguments, ...) EACH(name, Poll, parameters, arguments, __VA_ARGS__)
// A poll that completes one request at most: `place` tells which. It leaves no frame behind where it may go
// straight on; with one request it is one cache line that does not touch the stack.
#define STAND_BEFORE_TEST(symbol, quick, parameters, arguments, requests, count, place)                       \
  [[gnu::noinline]] static LOOK_AT(look_at_##symbol, symbol, Poll, parameters, arguments, {                   \
    const Before before(requests, count);                                                                     \
    MPI_Status own;                                                                                           \
    if (status == MPI_STATUS_IGNORE) status = &own;                                                           \
    const int result = original arguments;                                                                    \
    if (result == MPI_SUCCESS && *flag && before.any() && *place != MPI_UNDEFINED)                            \
      completed(before[*place], *status);                                                                     \
    return result;                                                                                            \
  })                                                                                                          \
  [[gnu::noinline]] static int ask_##symbol parameters {                                                      \
    if (quick_tests.left == 0 || static_cast<unsigned>(count) > QuickTests::kMost)                            \
      return look_at_##symbol arguments;                                                                      \
    quick_tests.ask(requests, count);                                                                         \
    return quick_tests.quick arguments;                                                                       \
  }                                                                                                           \
  EXPORT [[gnu::aligned(64)]] int symbol parameters {                                                         \
    if (quick_tests.left == 0 || count != 1) [[unlikely]] return ask_##symbol arguments;                      \
    quick_tests.ask(requests, 1);                                                                             \
    return quick_tests.quick arguments;                                                                       \
  }
#define TEST(name, quick, parameters, arguments, requests, count, place)                                      \
  BOTH_NAMES(STAND_BEFORE_TEST, name, quick, parameters, arguments, requests, count, place)
// Something is done before, and the call passed on.
#define CALL_AFTER(name, parameters, arguments, before)                       \
  CALL(name, parameters, arguments, before; return original arguments;)

CALL(Init, (int* argc, char*** argv), (argc, argv), {
  const int result = original(argc, argv);
  if (result == MPI_SUCCESS) begin();
  return result;
})
CALL(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided), {
  const int result = original(argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin();
  return result;
})
CALL(Finalize, (void), (), {
  end();
  return original();
})

// ---- Messages of the program's own.
#define SENDS(name)                                                                                           \
  CALL_AFTER(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),          \
             (data, count, type, to, tag, comm), called(comm, to, static_cast<size_t>(count), type, tag, site))
SENDS(Send)
SENDS(Ssend)
SENDS(Bsend)
SENDS(Rsend)
#define ISENDS(name)                                                                                          \
  CALL_AFTER(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,           \
                    MPI_Request* request),                                                                    \
             (data, count, type, to, tag, comm, request),                                                     \
             called(comm, to, static_cast<size_t>(count), type, tag, site))
ISENDS(Isend)
ISENDS(Issend)
ISENDS(Ibsend)
ISENDS(Irsend)
#define SEND_INITS(name)                                                                                      \
  CALL(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,                 \
              MPI_Request* request),                                                                          \
       (data, count, type, to, tag, comm, request), {                                                         \
         const int result = original(data, count, type, to, tag, comm, request);                              \
         if (result == MPI_SUCCESS) {                                                                         \
           const std::lock_guard lock(persistent().lock);                                                     \
           persistent().known[*request] = {comm, to, tag, count, type};                                       \
         }                                                                                                    \
         return result;                                                                                       \
       })
SEND_INITS(Send_init)
SEND_INITS(Ssend_init)
SEND_INITS(Bsend_init)
SEND_INITS(Rsend_init)
CALL(Recv_init, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, from, tag, comm, request), {
       const int result = original(data, count, type, from, tag, comm, request);
       if (result == MPI_SUCCESS) {
         const std::lock_guard lock(persistent().lock);
         PostedReceive one;
         one.comm = comm;
         one.source = from;
         one.tag = tag;
         persistent().receives[*request] = one;
       }
       return result;
     })
CALL_AFTER(Start, (MPI_Request* request), (request), started(*request, site))
CALL_AFTER(Startall, (int count, MPI_Request requests[]), (count, requests),
           for (int i = 0; i < count; ++i) started(requests[i], site))
CALL_AFTER(Request_free, (MPI_Request* request), (request), {
  forget(*request);
  const std::lock_guard lock(persistent().lock);
  persistent().known.erase(*request);
  persistent().receives.erase(*request);
})

CALL(Recv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
     (data, count, type, from, tag, comm, status), {
       const PostedReceive one = posted(comm, from, tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, from, tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Irecv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, from, tag, comm, request), {
       const PostedReceive one = posted(comm, from, tag, site);
       const int result = original(data, count, type, from, tag, comm, request);
       if (result == MPI_SUCCESS && from != MPI_PROC_NULL) remember(*request, one);
       return result;
     })
CALL(Sendrecv, (const void* data, int count, MPI_Datatype type, int to, int tag, void* in, int in_count,
                MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status),
     (data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, status), {
       called(comm, to, static_cast<size_t>(count), type, tag, site);
       const PostedReceive one = posted(comm, from, in_tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Sendrecv_replace, (void* data, int count, MPI_Datatype type, int to, int tag, int from, int in_tag,
                        MPI_Comm comm, MPI_Status* status),
     (data, count, type, to, tag, from, in_tag, comm, status), {
       called(comm, to, static_cast<size_t>(count), type, tag, site);
       const PostedReceive one = posted(comm, from, in_tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, to, tag, from, in_tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })

// ---- Receives that are done when a wait or a test says so.
CALL(Wait, (MPI_Request* request, MPI_Status* status), (request, status), {
  const Before before(request, 1);
  MPI_Status own;
  MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = original(request, out);
  if (result == MPI_SUCCESS && before.any()) completed(before[0], *out);
  return result;
})
CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses), {
  const Before before(requests, count);
  Statuses out(statuses, count, before.any());
  const int result = original(count, requests, out.data());
  if (result == MPI_SUCCESS && before.any())
    for (int i = 0; i < count; ++i) completed(before[i], out[i]);
  return result;
})
CALL(Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status), (count, requests, index, status), {
  const Before before(requests, count);
  MPI_Status own;
  MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = original(count, requests, index, out);
  if (result == MPI_SUCCESS && before.any() && *index != MPI_UNDEFINED) completed(before[*index], *out);
  return result;
})
CALL(Waitsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), {
       const Before before(requests, count);
       Statuses out(statuses, count, before.any());
       const int result = original(count, requests, done, indices, out.data());
       if (result == MPI_SUCCESS && before.any())
         for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i) completed(before[indices[i]], out[i]);
       return result;
     })
TEST(Test, test, (MPI_Request* request, int* flag, MPI_Status* status), (request, flag, status), request, 1, &kFirst)
POLL(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
     (count, requests, flag, statuses), {
       const Before before(requests, count);
       Statuses out(statuses, count, before.any());
       const int result = original(count, requests, flag, out.data());
       if (result == MPI_SUCCESS && *flag && before.any())
         for (int i = 0; i < count; ++i) completed(before[i], out[i]);
       return result;
     })
TEST(Testany, test_any, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
     (count, requests, index, flag, status), requests, count, index)
POLL(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), {
       const Before before(requests, count);
       Statuses out(statuses, count, before.any());
       const int result = original(count, requests, done, indices, out.data());
       if (result == MPI_SUCCESS && before.any())
         for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i) completed(before[indices[i]], out[i]);
       return result;
     })
POLL(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status), (from, tag, comm, flag, status),
     return original(from, tag, comm, flag, status);)
POLL(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), (from, tag, comm, status),
     return original(from, tag, comm, status);)

// ---- Matched probes: the message is taken out of the queue by the probe.
CALL(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
     (from, tag, comm, message, status), {
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(from, tag, comm, message, out);
       if (result == MPI_SUCCESS) probed(*message, comm, *out);
       return result;
     })
POLL(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status),
     (from, tag, comm, flag, message, status), {
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(from, tag, comm, flag, message, out);
       if (result == MPI_SUCCESS && *flag) probed(*message, comm, *out);
       return result;
     })
CALL(Mrecv, (void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),
     (data, count, type, message, status), {
       const PostedReceive one = matched(*message, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, message, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Imrecv, (void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request),
     (data, count, type, message, request), {
       const PostedReceive one = matched(*message, site);
       const int result = original(data, count, type, message, request);
       if (result == MPI_SUCCESS && one.source != MPI_PROC_NULL) remember(*request, one);
       return result;
     })

// ---- Collective calls, each with its non-blocking form.
CALL_AFTER(Barrier, (MPI_Comm comm), (comm), called_collective(Collective::kBarrier, comm, 0, 0, site))
CALL_AFTER(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request),
           called_collective(Collective::kBarrier, comm, 0, 0, site))

// The blocking form, and the non-blocking one with its request.
#define COLLECTIVES(name, iname, before, arguments, ...)                                                      \
  CALL_AFTER(name, (__VA_ARGS__), (ARGUMENTS arguments), before)                                              \
  CALL_AFTER(iname, (__VA_ARGS__, MPI_Request* request), (ARGUMENTS arguments, request), before)
#define ARGUMENTS(...) __VA_ARGS__

COLLECTIVES(Bcast, Ibcast, called_collective(Collective::kBroadcast, comm, root, block(count, type), site),
            (data, count, type, root, comm), void* data, int count, MPI_Datatype type, int root, MPI_Comm comm)
COLLECTIVES(Reduce, Ireduce, called_collective(Collective::kReduce, comm, root, block(count, type), site),
            (data, out, count, type, op, root, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, int root, MPI_Comm comm)
COLLECTIVES(Allreduce, Iallreduce, called_collective(Collective::kAllreduce, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Scan, Iscan, called_collective(Collective::kScan, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Exscan, Iexscan, called_collective(Collective::kScan, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Gather, Igather,
            called_collective(Collective::kGather, comm, root,
                              data == MPI_IN_PLACE ? block(out_count, out_type) : block(count, type), site),
            (data, count, type, out, out_count, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Scatter, Iscatter,
            called_collective(Collective::kScatter, comm, root,
                              out == MPI_IN_PLACE ? block(count, type) : block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Allgather, Iallgather,
            called_collective(Collective::kAllgather, comm, 0, block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, comm), const void* data, int count, MPI_Datatype type,
            void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Alltoall, Ialltoall,
            called_collective(Collective::kAlltoall, comm, 0, block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, comm), const void* data, int count, MPI_Datatype type,
            void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Gatherv, Igatherv,
            called_gatherv(data == MPI_IN_PLACE, count, type, counts, out_type, root, comm, site),
            (data, count, type, out, counts, places, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, const int counts[], const int places[], MPI_Datatype out_type, int root,
            MPI_Comm comm)
COLLECTIVES(Scatterv, Iscatterv, called_scatterv(counts, type, out_count, out_type, root, comm, site),
            (data, counts, places, type, out, out_count, out_type, root, comm), const void* data,
            const int counts[], const int places[], MPI_Datatype type, void* out, int out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Allgatherv, Iallgatherv, called_allgatherv(counts, out_type, comm, site),
            (data, count, type, out, counts, places, out_type, comm), const void* data, int count,
            MPI_Datatype type, void* out, const int counts[], const int places[], MPI_Datatype out_type,
            MPI_Comm comm)
COLLECTIVES(Alltoallv, Ialltoallv,
            called_alltoallv(data == MPI_IN_PLACE, counts, type, out_counts, out_type, comm, site),
            (data, counts, places, type, out, out_counts, out_places, out_type, comm), const void* data,
            const int counts[], const int places[], MPI_Datatype type, void* out, const int out_counts[],
            const int out_places[], MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Alltoallw, Ialltoallw,
            called_alltoallv(data == MPI_IN_PLACE, counts, types, out_counts, out_types, comm, site),
            (data, counts, places, types, out, out_counts, out_places, out_types, comm), const void* data,
            const int counts[], const int places[], const MPI_Datatype types[], void* out, const int out_counts[],
            const int out_places[], const MPI_Datatype out_types[], MPI_Comm comm)
COLLECTIVES(Reduce_scatter, Ireduce_scatter, called_reduce_scatter(counts, type, comm, site),
            (data, out, counts, type, op, comm), const void* data, void* out, const int counts[],
            MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVES(Reduce_scatter_block, Ireduce_scatter_block, called_reduce_scatter_block(count, type, comm, site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)

// ---- Communicators: made by all their members in the same order, which gives them one number.
#define MAKES(name, made, parameters, arguments)                                                              \
  CALL(name, parameters, arguments, {                                                                         \
    const int result = original arguments;                                                                    \
    if (result == MPI_SUCCESS) communicator_made(*made);                                                      \
    return result;                                                                                            \
  })
MAKES(Comm_dup, out, (MPI_Comm comm, MPI_Comm* out), (comm, out))
MAKES(Comm_dup_with_info, out, (MPI_Comm comm, MPI_Info info, MPI_Comm* out), (comm, info, out))
MAKES(Comm_split, out, (MPI_Comm comm, int colour, int key, MPI_Comm* out), (comm, colour, key, out))
MAKES(Comm_split_type, out, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out),
      (comm, type, key, info, out))
MAKES(Comm_create, out, (MPI_Comm comm, MPI_Group group, MPI_Comm* out), (comm, group, out))
MAKES(Comm_create_group, out, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* out), (comm, group, tag, out))
MAKES(Cart_create, out, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                         MPI_Comm* out), (comm, dimensions, sizes, periods, reorder, out))
MAKES(Cart_sub, out, (MPI_Comm comm, const int kept[], MPI_Comm* out), (comm, kept, out))
MAKES(Graph_create, out, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                          MPI_Comm* out), (comm, nodes, index, edges, reorder, out))
MAKES(Intercomm_create, out, (MPI_Comm comm, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm* out),
      (comm, leader, peer, remote, tag, out))
MAKES(Intercomm_merge, out, (MPI_Comm comm, int high, MPI_Comm* out), (comm, high, out))
CALL_AFTER(Comm_free, (MPI_Comm* comm), (comm), communicator_freed(*comm))
// clang-format on

// Section marks that the program prints ("Begin of X section.") name the phases.
EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  static auto* const original = next<decltype(fwrite)>("fwrite");
  look_for_mark(static_cast<const char*>(data), size * count);
  return original(data, size, count, file);
}
EXPORT int fputs(const char* text, FILE* file) {
  static auto* const original = next<decltype(fputs)>("fputs");
  look_for_mark(text, std::strlen(text));
  return original(text, file);
}
