// Replaces the entries of Open MPI's table of point-to-point functions while the program communicates.
#include "sources/mpi/layer.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/environment.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

#ifdef OPEN_MPI
namespace {

// Only its beginning is declared, as Open MPI 4.1's ompi/mca/pml/pml.h lays it out.
using Request = MPI_Request;
struct PointToPointLayer {
  void* add_procs;
  void* del_procs;
  void* enable;
  void* progress;
  void* add_comm;
  int (*del_comm)(MPI_Comm);
  int (*irecv_init)(void*, size_t, MPI_Datatype, int, int, MPI_Comm, Request*);
  int (*irecv)(void*, size_t, MPI_Datatype, int, int, MPI_Comm, Request*);
  int (*recv)(void*, size_t, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  int (*isend_init)(const void*, size_t, MPI_Datatype, int, int, int mode, MPI_Comm, Request*);
  int (*isend)(const void*, size_t, MPI_Datatype, int, int, int mode, MPI_Comm, Request*);
  int (*send)(const void*, size_t, MPI_Datatype, int, int, int mode, MPI_Comm);
  void* iprobe;
  void* probe;
  int (*start)(size_t, Request*);
};
PointToPointLayer* layer = nullptr;
PointToPointLayer original;

struct Persistent {
  CommunicatorRecord among;
  int peer;
  int tag;
  uint64_t bytes;
  bool sends;
};
std::unordered_map<Request, Persistent>& persistent() {
  static auto* one = new std::unordered_map<Request, Persistent>;
  return *one;
}

void keep(Request request, MPI_Comm comm, int peer, int tag, uint64_t bytes, bool sends) {
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    if (self.counting) persistent()[request] = {self.channels.communicator(comm), peer, tag, bytes, sends};
  });
}

// Tags below zero are those of collective operations.
bool is_collective(int tag) { return tag < 0 && tag != MPI_ANY_TAG; }
uint16_t flags_of(int tag) { return is_collective(tag) ? SUBSTRATA_FLAG_COLLECTIVE : 0; }

// While the table is verified: what a message of this rank to itself must arrive with.
struct Trial {
  bool running = false;
  MPI_Comm comm{};
  int tag = 0;
  uint64_t bytes = 0;
  MPI_Request request{};
  int seen = 0;  // calls of hooks with all of this
};
Trial trial;
void note(bool right) {
  if (trial.running && right) ++trial.seen;
}
void note(MPI_Comm comm, int peer, int tag, size_t count, MPI_Datatype type) {
  if (!trial.running) return;
  note(comm == trial.comm && peer == 0 && tag == trial.tag && type == MPI_BYTE && count == trial.bytes);
}

void account_real(MPI_Comm comm, int to, uint64_t bytes, int tag) {
  void* const site = __builtin_return_address(0);
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    if (self.counting) account(self, *self.channels.communicator(comm), to, bytes, tag, flags_of(tag), site);
  });
}
void await_real(MPI_Comm comm, int from, int tag) {
  if (!is_collective(tag)) return;  // the program's own receives are seen where it calls
  void* const site = __builtin_return_address(0);
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    if (self.counting)
      await(self, *self.channels.communicator(comm), from, tag, SUBSTRATA_FLAG_COLLECTIVE, site);
  });
}

int hook_send(const void* data, size_t count, MPI_Datatype type, int to, int tag, int mode, MPI_Comm comm) {
  note(comm, to, tag, count, type);
  account_real(comm, to, bytes_of(count, type), tag);
  return original.send(data, count, type, to, tag, mode, comm);
}
int hook_isend(const void* data, size_t count, MPI_Datatype type, int to, int tag, int mode, MPI_Comm comm,
               Request* request) {
  note(comm, to, tag, count, type);
  account_real(comm, to, bytes_of(count, type), tag);
  return original.isend(data, count, type, to, tag, mode, comm, request);
}
int hook_isend_init(const void* data, size_t count, MPI_Datatype type, int to, int tag, int mode,
                    MPI_Comm comm, Request* request) {
  note(comm, to, tag, count, type);
  const int result = original.isend_init(data, count, type, to, tag, mode, comm, request);
  if (result == MPI_SUCCESS) keep(*request, comm, to, tag, bytes_of(count, type), true);
  return result;
}
int hook_recv(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status* status) {
  note(comm, from, tag, count, type);
  await_real(comm, from, tag);
  const int result = original.recv(data, count, type, from, tag, comm, status);
  if (is_collective(tag)) {
    unharmed([] {
      const std::lock_guard guard(shim().lock);
      settle(shim());
    });
  }
  return result;
}
int hook_irecv(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               Request* request) {
  note(comm, from, tag, count, type);
  await_real(comm, from, tag);
  return original.irecv(data, count, type, from, tag, comm, request);
}
int hook_irecv_init(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    Request* request) {
  note(comm, from, tag, count, type);
  const int result = original.irecv_init(data, count, type, from, tag, comm, request);
  if (result == MPI_SUCCESS) keep(*request, comm, from, tag, 0, false);
  return result;
}
int hook_start(size_t count, Request* requests) {
  note(count == 1 && requests != nullptr && requests[0] == trial.request);
  void* const site = __builtin_return_address(0);
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    for (size_t i = 0; i < count && self.counting; ++i) {
      const auto found = persistent().find(requests[i]);
      if (found == persistent().end()) continue;
      const Persistent& one = found->second;
      if (!is_collective(one.tag)) continue;  // MPI_Start starts those of the program, and is seen itself
      if (one.sends)
        account(self, *one.among, one.peer, one.bytes, one.tag, flags_of(one.tag), site);
      else
        await(self, *one.among, one.peer, one.tag, SUBSTRATA_FLAG_COLLECTIVE, site);
    }
  });
  return original.start(count, requests);
}
int hook_del_comm(MPI_Comm comm) {
  note(comm == trial.comm);
  communicator_freed(comm);
  return original.del_comm(comm);
}

// The beginning of Open MPI's table and of its requests (completion_callbacks.cpp) is that of this series only: in 5.0
// both are laid out otherwise. Of the library that runs, and of the one whose header was compiled.
bool is_known_series() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  pmpi().Get_library_version(version, &length);
  return OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1 &&
         std::strstr(version, "Open MPI v4.1.") != nullptr;
}

constexpr char kSent[] = "substrata verifies";

// One message of this rank to itself, by one pair of functions; the hooks among them must see it `hooks` times.
template <typename Exchange>
bool verified(int hooks, const Exchange& exchange) {
  static int tag = 4711;
  char received[sizeof kSent] = "";
  trial.tag = tag++;
  trial.bytes = sizeof kSent;
  trial.seen = 0;
  trial.running = true;
  const bool ended = exchange(received);
  trial.running = false;
  trial.running = false;
  return ended && trial.seen == hooks && std::memcmp(received, kSent, sizeof kSent) == 0;
}
constexpr int kSize = sizeof kSent;

// Each slot is hooked by itself before the next: where the layout is another one, no other slot is touched.
bool hook_and_verify() {
  const Library& mpi = pmpi();
  const auto send = [&](MPI_Comm comm) { return mpi.Send(kSent, kSize, MPI_BYTE, 0, trial.tag, comm); };
  const auto isend = [&](MPI_Comm comm, MPI_Request* out) {
    return mpi.Isend(kSent, kSize, MPI_BYTE, 0, trial.tag, comm, out);
  };
  const auto irecv = [&](char* into, MPI_Comm comm, MPI_Request* out) {
    return mpi.Irecv(into, kSize, MPI_BYTE, 0, trial.tag, comm, out);
  };
  const auto wait = [&](MPI_Request& one) { return mpi.Wait(&one, MPI_STATUS_IGNORE) == MPI_SUCCESS; };
  MPI_Comm apart{};
  if (mpi.Comm_dup(MPI_COMM_SELF, &apart) != MPI_SUCCESS) return false;
  trial.comm = apart;
  MPI_Request in{}, out{};
  layer->send = hook_send;
  bool right = verified(1, [&](char* into) {
    return irecv(into, apart, &in) == MPI_SUCCESS && send(apart) == MPI_SUCCESS && wait(in);
  });
  if (right) {
    layer->isend = hook_isend;
    right = verified(1, [&](char* into) {
      return irecv(into, apart, &in) == MPI_SUCCESS && isend(apart, &out) == MPI_SUCCESS && wait(in) &&
             wait(out);
    });
  }
  if (right) {
    layer->recv = hook_recv;
    right = verified(2, [&](char* into) {
      return isend(apart, &out) == MPI_SUCCESS &&
             mpi.Recv(into, kSize, MPI_BYTE, 0, trial.tag, apart, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
             wait(out);
    });
  }
  if (right) {
    layer->irecv = hook_irecv;
    right = verified(2, [&](char* into) {
      return irecv(into, apart, &in) == MPI_SUCCESS && send(apart) == MPI_SUCCESS && wait(in);
    });
  }
  if (right) {
    layer->isend_init = hook_isend_init;
    layer->irecv_init = hook_irecv_init;
    layer->start = hook_start;
    right = verified(4, [&](char* into) {
      if (mpi.Recv_init(into, kSize, MPI_BYTE, 0, trial.tag, apart, &in) != MPI_SUCCESS ||
          mpi.Send_init(kSent, kSize, MPI_BYTE, 0, trial.tag, apart, &out) != MPI_SUCCESS)
        return false;
      MPI_Request ends[] = {in, out};
      bool done = true;
      for (MPI_Request& one : ends) {
        trial.request = one;
        // MPI_Start calls the request's own function; collective operations call the table's.
        done = layer->start(1, &one) == MPI_SUCCESS && done;
      }
      done = done && wait(ends[0]) && wait(ends[1]);
      for (MPI_Request& one : ends) mpi.Request_free(&one);
      return done;
    });
  }
  if (!right) {
    mpi.Comm_free(&apart);
    return false;
  }
  layer->del_comm = hook_del_comm;
  return verified(1, [&](char* into) {
    std::memcpy(into, kSent, sizeof kSent);  // no message
    return mpi.Comm_free(&apart) == MPI_SUCCESS;
  });
}

}  // namespace

bool hook_layer() {
  const char* forced = environment("SUBSTRATA_MPI_LEVEL");
  if ((forced != nullptr && std::strcmp(forced, "1") == 0) || !is_known_series()) return false;
  layer = static_cast<PointToPointLayer*>(object_of_library("mca_pml"));
  if (layer == nullptr || layer->send == nullptr || layer->isend == nullptr || layer->recv == nullptr ||
      layer->irecv == nullptr || layer->isend_init == nullptr || layer->irecv_init == nullptr ||
      layer->start == nullptr || layer->del_comm == nullptr)
    return false;
  original = *layer;
  if (hook_and_verify()) return true;
  unhook_layer();
  return false;
}
void unhook_layer() {
  layer->send = original.send;
  layer->isend = original.isend;
  layer->isend_init = original.isend_init;
  layer->recv = original.recv;
  layer->irecv = original.irecv;
  layer->irecv_init = original.irecv_init;
  layer->start = original.start;
  layer->del_comm = original.del_comm;
}
#else
bool hook_layer() { return false; }
void unhook_layer() {}
#endif

}  // namespace substrata::mpi
