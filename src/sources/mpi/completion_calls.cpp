// The calls that wait for a request, test it, or probe for a message: there the program learns what is done.
#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "sources/mpi/requests.hpp"
#include "sources/mpi/shim.hpp"
#include "sources/mpi/wrap.hpp"

namespace substrata::mpi {
namespace {

// Copies of request handles from before a call that may clear them; nothing when no request is watched.
class Before {
 public:
  Before(const MPI_Request* requests, int count) {
    if (count <= 0 || requests == nullptr || !watches_requests()) return;
    const auto size = static_cast<size_t>(count);
    if (size > few_.size() && !unharmed([&] { return many_.resize(size), true; }, false)) return;
    std::copy(requests, requests + count, many_.empty() ? few_.data() : many_.data());
    size_ = size;
  }
  bool any() const { return size_ != 0; }
  void ignore() { size_ = 0; }
  MPI_Request operator[](int index) const {
    const auto at = static_cast<size_t>(index);
    return many_.empty() ? few_[at] : many_[at];
  }

 private:
  size_t size_ = 0;
  std::array<MPI_Request, 16> few_;  // its first size_ entries are filled
  std::vector<MPI_Request> many_;
};

// Statuses of our own when the program wants none.
class Statuses {
 public:
  Statuses(MPI_Status* wanted, int count, Before& before) : given_(wanted) {
    if (wanted != MPI_STATUSES_IGNORE || !before.any()) return;
    const auto size = static_cast<size_t>(count);
    if (size <= few_.size())
      given_ = few_.data();
    else if (unharmed([&] { return many_.resize(size), true; }, false))
      given_ = many_.data();
    else
      before.ignore();
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

// Waits or tests for some of many requests.
template <typename Original>
int some(Original original, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Before before(requests, count);
  Statuses out(statuses, count, before);
  const int result = original(count, requests, done, indices, out.data());
  if (result == MPI_SUCCESS && before.any())
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i) completed(before[indices[i]], out[i]);
  return result;
}

}  // namespace

bool find_quick_tests() {
  const auto find = [](auto& out, const char* name, const char* own_name) {
    void* const found = next_definition(name, nullptr);
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(found);
    return found != nullptr && found == next_definition(own_name, nullptr);
  };
  return find(quick_tests.test, "MPI_Test", "PMPI_Test") &&
         find(quick_tests.test_any, "MPI_Testany", "PMPI_Testany");
}

}  // namespace substrata::mpi

using namespace substrata::mpi;

// clang-format off
// A poll that completes one request at most: `place` says which. It leaves no frame behind where it may go
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
    if (quick_tests.left == 0 || requests == nullptr || static_cast<unsigned>(count) > QuickTests::kMost)     \
      return look_at_##symbol arguments;                                                                      \
    quick_tests.ask(requests, count);                                                                         \
    return quick_tests.quick arguments;                                                                       \
  }                                                                                                           \
  EXPORT __attribute__((aligned(64))) int symbol parameters {                                               \
    if (quick_tests.left == 0 || count != 1 || requests == nullptr) [[unlikely]] return ask_##symbol arguments; \
    quick_tests.ask(requests, 1);                                                                             \
    return quick_tests.quick arguments;                                                                       \
  }
#define TEST(name, quick, parameters, arguments, requests, count, place)                                      \
  BOTH_NAMES(STAND_BEFORE_TEST, name, quick, parameters, arguments, requests, count, place)

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
  Before before(requests, count);
  Statuses out(statuses, count, before);
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
     (count, requests, done, indices, statuses), return some(original, count, requests, done, indices, statuses);)
TEST(Test, test, (MPI_Request* request, int* flag, MPI_Status* status), (request, flag, status), request, 1, &kFirst)
POLL(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]),
     (count, requests, flag, statuses), {
       Before before(requests, count);
       Statuses out(statuses, count, before);
       const int result = original(count, requests, flag, out.data());
       if (result == MPI_SUCCESS && *flag && before.any())
         for (int i = 0; i < count; ++i) completed(before[i], out[i]);
       return result;
     })
TEST(Testany, test_any, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status),
     (count, requests, index, flag, status), requests, count, index)
POLL(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
     (count, requests, done, indices, statuses), return some(original, count, requests, done, indices, statuses);)
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
       const PostedReceive one = matched(message, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, message, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Imrecv, (void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request),
     (data, count, type, message, request), {
       const PostedReceive one = matched(message, site);
       const int result = original(data, count, type, message, request);
       if (result == MPI_SUCCESS && one.source != MPI_PROC_NULL) remember(*request, one);
       return result;
     })
// clang-format on
