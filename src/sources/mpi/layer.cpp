// Replaces the entries of Open MPI's table of point-to-point functions while the program communicates.
#include "layer.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/environment.hpp"
#include "shim.hpp"

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
  account_real(comm, to, bytes_of(count, type), tag);
  return original.send(data, count, type, to, tag, mode, comm);
}
int hook_isend(const void* data, size_t count, MPI_Datatype type, int to, int tag, int mode, MPI_Comm comm,
               Request* request) {
  account_real(comm, to, bytes_of(count, type), tag);
  return original.isend(data, count, type, to, tag, mode, comm, request);
}
int hook_isend_init(const void* data, size_t count, MPI_Datatype type, int to, int tag, int mode,
                    MPI_Comm comm, Request* request) {
  const int result = original.isend_init(data, count, type, to, tag, mode, comm, request);
  if (result == MPI_SUCCESS) keep(*request, comm, to, tag, bytes_of(count, type), true);
  return result;
}
int hook_recv(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status* status) {
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
  await_real(comm, from, tag);
  return original.irecv(data, count, type, from, tag, comm, request);
}
int hook_irecv_init(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    Request* request) {
  const int result = original.irecv_init(data, count, type, from, tag, comm, request);
  if (result == MPI_SUCCESS) keep(*request, comm, from, tag, 0, false);
  return result;
}
int hook_start(size_t count, Request* requests) {
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
  communicator_freed(comm);
  return original.del_comm(comm);
}

}  // namespace

bool hook_layer() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  pmpi().Get_library_version(version, &length);
  char wanted[32];
  std::snprintf(wanted, sizeof wanted, "Open MPI v%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
  const char* forced = environment("SUBSTRATA_MPI_LEVEL");
  if (forced != nullptr && std::strcmp(forced, "1") == 0) return false;
  layer = static_cast<PointToPointLayer*>(dlsym(RTLD_DEFAULT, "mca_pml"));
  const bool right = std::strstr(version, wanted) != nullptr && layer != nullptr && layer->send != nullptr &&
                     layer->isend != nullptr && layer->start != nullptr && layer->recv != nullptr;
  if (!right) {
    if (shim().rank == 0)
      std::fprintf(
          stderr,
          "substrata MPI shim: this is '%.60s', the shim was built for %s*; collective operations are "
          "modelled (level 1)\n",
          version, wanted);
    return false;
  }
  original = *layer;
  layer->send = hook_send;
  layer->isend = hook_isend;
  layer->isend_init = hook_isend_init;
  layer->recv = hook_recv;
  layer->irecv = hook_irecv;
  layer->irecv_init = hook_irecv_init;
  layer->start = hook_start;
  layer->del_comm = hook_del_comm;
  return true;
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
