// The preloaded MPI shim: counts an unmodified program's messages and publishes them. Compiled once for each
// MPI library's binary interface.
//
// Level 1, any MPI: the calls themselves; a collective operation is expanded by its textbook algorithm and
// marked modelled. Level 2, Open MPI of the series it was built for: the messages of the point-to-point
// layer, also those of collectives. Each call goes on to the next definition in the process, so that other
// tools keep working. Polls are not recorded.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <substrata/feed.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger.hpp"

namespace substrata::mpi_shim {
namespace {

#ifdef OPEN_MPI
// The constants are addresses of the library's objects. Weak, so that preloading into a program without MPI
// does no harm.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_unsigned_long
constexpr const char* kLibrary = "libmpi.so.40";
#else
constexpr const char* kLibrary = "libmpich.so.12";
#endif

// The next definition of an MPI function after ours: another tool's, or the library's own.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// State of this process between MPI_Init and MPI_Finalize. One lock serialises the account: a message costs
// hundreds of nanoseconds, the uncontended lock some twenty.
struct Shim {
  std::mutex lock;
  bool counting = false;
  int level = 1;
  int rank = 0;
  int ranks = 1;
  Ledger ledger{1};
  SectionBoard own_board{};
  SectionBoard* board = &own_board;
  std::unordered_map<MPI_Comm, std::vector<int>> world_ranks;  // of a communicator's (remote) ranks
  substrata_publisher* publisher = nullptr;
  substrata_recorder* recorder = nullptr;
};

// Never destroyed: the program may call MPI from its own exit handlers.
Shim& shim() {
  static Shim* one = new Shim;
  return *one;
}

bool right_library_loaded() {
  static const bool loaded = [] {
    bool found = false;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) -> int {
          if (info->dlpi_name != nullptr && std::strstr(info->dlpi_name, kLibrary) != nullptr)
            *static_cast<bool*>(out) = true;
          return 0;
        },
        &found);
    return found;
  }();
  return loaded;
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The world's ranks of those a communicator sends to; -1 for ranks of another job.
const std::vector<int>& ranks_of(Shim& self, MPI_Comm comm) {
  const auto [at, is_new] = self.world_ranks.try_emplace(comm);
  if (!is_new) return at->second;
  int inter = 0;
  MPI_Group group;
  MPI_Group world;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter)
    PMPI_Comm_remote_group(comm, &group);
  else
    PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> mine(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) mine[static_cast<size_t>(i)] = i;
  std::vector<int> theirs(mine.size(), -1);
  if (size > 0) PMPI_Group_translate_ranks(group, size, mine.data(), world, theirs.data());
  for (int& rank : theirs)
    if (rank == MPI_UNDEFINED) rank = -1;
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  at->second = std::move(theirs);
  return at->second;
}

uint64_t bytes_of(size_t count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * static_cast<uint64_t>(size);
}

std::string phase_name(Shim& self) {
  if (const uint16_t region = substrata_phase(); region != 0) {
    if (const char* name = substrata_region_name(region)) return name;
  }
  std::string section = self.board->name();
  return section.empty() ? "(outside)" : section;
}

// One message to a rank of the communicator. The caller holds the lock.
void account(Shim& self, MPI_Comm comm, int to, uint64_t bytes, int tag, uint16_t flags, void* site) {
  if (to == MPI_PROC_NULL) return;
  const std::vector<int>& world = ranks_of(self, comm);
  const int target = to >= 0 && static_cast<size_t>(to) < world.size() ? world[static_cast<size_t>(to)] : -1;
  self.ledger.sent(phase_name(self), target, bytes);
  if (self.publisher == nullptr) return;
  substrata_transaction* slot = substrata_reserve(self.publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = static_cast<uint64_t>(now_ns());
  slot->site = reinterpret_cast<uint64_t>(site);
  slot->detail = static_cast<uint64_t>(static_cast<int64_t>(tag));
  slot->initiator = static_cast<uint32_t>(self.rank);
  slot->target = static_cast<uint32_t>(target);
  slot->size = static_cast<uint32_t>(bytes > UINT32_MAX ? UINT32_MAX : bytes);
  slot->kind = SUBSTRATA_SEND;
  slot->phase = substrata_phase();
  slot->flags = flags;
  substrata_commit(self.publisher);
}

// A point-to-point call seen at level 1.
void called(MPI_Comm comm, int to, size_t count, MPI_Datatype type, int tag, void* site) {
  Shim& self = shim();
  if (!self.counting || self.level != 1) return;
  const std::lock_guard guard(self.lock);
  account(self, comm, to, bytes_of(count, type), tag, 0, site);
}

// A collective call seen at level 1: expanded, marked modelled.
void called_collective(Collective operation, MPI_Comm comm, int root, uint64_t bytes, void* site) {
  Shim& self = shim();
  if (!self.counting || self.level != 1) return;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return;  // two groups: no textbook form
  int me = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  const std::lock_guard guard(self.lock);
  for (const ModelledMessage& message : expand(operation, me, size, root, bytes))
    account(self, comm, message.to, message.bytes, -1, SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_COLLECTIVE,
            site);
}

#ifdef OPEN_MPI
// ---- Level 2: the point-to-point layer's table, whose entries are replaced while the program communicates.
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
  void* irecv;
  void* recv;
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
  MPI_Comm comm;
  int to;
  int tag;
  uint64_t bytes;
};
std::unordered_map<Request, Persistent>& persistent() {
  static auto* one = new std::unordered_map<Request, Persistent>;
  return *one;
}

// Tags below zero are those of collective operations.
uint16_t flags_of(int tag) { return tag < 0 ? SUBSTRATA_FLAG_COLLECTIVE : 0; }

void account_real(MPI_Comm comm, int to, uint64_t bytes, int tag) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  if (self.counting) account(self, comm, to, bytes, tag, flags_of(tag), __builtin_return_address(0));
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
  if (result == MPI_SUCCESS) {
    const std::lock_guard guard(shim().lock);
    persistent()[*request] = {comm, to, tag, bytes_of(count, type)};
  }
  return result;
}
int hook_irecv_init(void* data, size_t count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    Request* request) {
  const int result = original.irecv_init(data, count, type, from, tag, comm, request);
  if (result == MPI_SUCCESS) {
    const std::lock_guard guard(shim().lock);
    persistent().erase(*request);  // the memory of a freed send request, used again
  }
  return result;
}
int hook_start(size_t count, Request* requests) {
  {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    for (size_t i = 0; i < count && self.counting; ++i) {
      const auto found = persistent().find(requests[i]);
      if (found == persistent().end()) continue;
      const Persistent& send = found->second;
      account(self, send.comm, send.to, send.bytes, send.tag, flags_of(send.tag),
              __builtin_return_address(0));
    }
  }
  return original.start(count, requests);
}
int hook_del_comm(MPI_Comm comm) {
  {
    const std::lock_guard guard(shim().lock);
    shim().world_ranks.erase(comm);
  }
  return original.del_comm(comm);
}

// True when this process runs the series of Open MPI whose table we know, and the table is now ours.
bool hook_layer() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(version, &length);
  char wanted[32];
  std::snprintf(wanted, sizeof wanted, "Open MPI v%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
  const char* forced = std::getenv("SUBSTRATA_MPI_LEVEL");
  if (forced != nullptr && std::strcmp(forced, "1") == 0) return false;
  if (std::strstr(version, wanted) == nullptr) return false;
  layer = static_cast<PointToPointLayer*>(dlsym(RTLD_DEFAULT, "mca_pml"));
  if (layer == nullptr || layer->send == nullptr || layer->isend == nullptr || layer->start == nullptr)
    return false;
  original = *layer;
  layer->send = hook_send;
  layer->isend = hook_isend;
  layer->isend_init = hook_isend_init;
  layer->irecv_init = hook_irecv_init;
  layer->start = hook_start;
  layer->del_comm = hook_del_comm;
  return true;
}
void unhook_layer() {
  layer->send = original.send;
  layer->isend = original.isend;
  layer->isend_init = original.isend_init;
  layer->irecv_init = original.irecv_init;
  layer->start = original.start;
  layer->del_comm = original.del_comm;
}
constexpr bool kHasLevel2 = true;
#else
bool hook_layer() { return false; }
void unhook_layer() {}
constexpr bool kHasLevel2 = false;
#endif

// A board that the ranks of one node share: rank 0 makes the file, those that can open it map it. Collective.
void share_board(Shim& self) {
  char name[64] = "";
  if (self.rank == 0) {
    std::strcpy(name, "/dev/shm/substrata-mpi-XXXXXX");
    const int file = mkstemp(name);
    if (file < 0 || ftruncate(file, sizeof(SectionBoard)) != 0) name[0] = '\0';
    if (file >= 0) close(file);
  }
  PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (name[0] != '\0') {
    const int file = open(name, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      void* memory = mmap(nullptr, sizeof(SectionBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) self.board = static_cast<SectionBoard*>(memory);
      close(file);
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (self.rank == 0 && name[0] != '\0') unlink(name);
}

void open_feed(Shim& self) {
  substrata_source_info source{};
  source.struct_size = sizeof source;
  source.kind = SUBSTRATA_SOURCE_LIVE;
  source.name = "mpi";
  source.summary = "Messages of an MPI program, seen by a preloaded shim";
  source.time_base = SUBSTRATA_TIME_REAL;
  source.ticks_per_second = 1'000'000'000;
  if (substrata_source_add(&source) != 0) return;
  const std::string name = "mpi.rank" + std::to_string(self.rank) + ".send";
  substrata_probe_info probe{};
  probe.struct_size = sizeof probe;
  probe.name = name.c_str();
  probe.text = "Messages this rank sends; initiator and target are ranks of the world, detail is the tag";
  probe.source = "mpi";
  uint32_t number = 0;
  if (substrata_probe_add(&probe, &number) != 0) return;
  if (substrata_publisher_open(number, 1024, &self.publisher) != 0) self.publisher = nullptr;
  if (const char* trace = std::getenv("SUBSTRATA_MPI_TRACE"); trace != nullptr && trace[0] != '\0') {
    std::string file = trace;
    if (const size_t at = file.find("%r"); at != std::string::npos)
      file.replace(at, 2, std::to_string(self.rank));
    else
      file += "." + std::to_string(self.rank);
    if (substrata_record_start(file.c_str(), "mpi.*", nullptr, &self.recorder) != 0) {
      std::fprintf(stderr, "substrata MPI shim: no trace: %s\n", substrata_feed_error());
      self.recorder = nullptr;
    }
  }
}

void begin() {
  if (!right_library_loaded()) return;
  Shim& self = shim();
  PMPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
  self.ledger = Ledger(self.ranks);
  share_board(self);
  open_feed(self);
  self.level = kHasLevel2 && hook_layer() ? 2 : 1;
  const std::lock_guard guard(self.lock);
  self.counting = true;
}

// Gathers every rank's account at rank 0 and writes the file. What a rank received is what the others counted
// for it.
void write_summary(Shim& self, const char* path) {
  std::vector<unsigned long> messages(self.ledger.messages_to().begin(), self.ledger.messages_to().end());
  std::vector<unsigned long> bytes(self.ledger.bytes_to().begin(), self.ledger.bytes_to().end());
  std::vector<unsigned long> messages_from(messages.size());
  std::vector<unsigned long> bytes_from(bytes.size());
  PMPI_Alltoall(messages.data(), 1, MPI_UNSIGNED_LONG, messages_from.data(), 1, MPI_UNSIGNED_LONG,
                MPI_COMM_WORLD);
  PMPI_Alltoall(bytes.data(), 1, MPI_UNSIGNED_LONG, bytes_from.data(), 1, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  for (const unsigned long count : messages_from) received += count;
  for (const unsigned long count : bytes_from) received_bytes += count;
  const std::string text = rank_as_json(self.ledger, self.rank, received, received_bytes, self.level);

  int length = static_cast<int>(text.size());
  std::vector<int> lengths(static_cast<size_t>(self.ranks));
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> places(lengths.size());
  int total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    places[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<size_t>(total), ' ');
  PMPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0,
               MPI_COMM_WORLD);
  if (self.rank != 0) return;
  const std::string temporary = std::string(path) + ".part";
  FILE* file = std::fopen(temporary.c_str(), "w");
  bool written = file != nullptr;
  if (written) {
    std::fputs("{\"ranks\":[\n", file);
    for (size_t i = 0; i < lengths.size(); ++i)
      std::fprintf(file, "%s%.*s", i == 0 ? "" : ",\n", lengths[i], all.data() + places[i]);
    std::fputs("\n]}\n", file);
    written = std::fclose(file) == 0 && std::rename(temporary.c_str(), path) == 0;
  }
  if (!written)
    std::fprintf(stderr, "substrata MPI shim: the summary cannot be written to %s: %s\n", path,
                 std::strerror(errno));
}

void end() {
  Shim& self = shim();
  {
    const std::lock_guard guard(self.lock);
    if (!self.counting) return;
    self.counting = false;
  }
  if (self.level == 2) unhook_layer();
  // Every rank or none takes part: the setting is the same for all, or rank 0's decides.
  const char* path = std::getenv("SUBSTRATA_MPI_SUMMARY");
  int wanted = path != nullptr && path[0] != '\0' ? 1 : 0;
  PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted) write_summary(self, path != nullptr ? path : "");
  if (self.recorder != nullptr) substrata_record_stop(self.recorder, nullptr);
  self.recorder = nullptr;
  substrata_publisher_close(self.publisher);
  self.publisher = nullptr;
}

void look_for_mark(const char* text, size_t size) {
  Shim& self = shim();
  if (!self.counting || size > 512) return;
  std::string name;
  if (find_section_mark({text, size}, name)) self.board->enter(name);
}

}  // namespace
}  // namespace substrata::mpi_shim

using namespace substrata::mpi_shim;

#define SITE __builtin_return_address(0)
#define EXPORT extern "C" __attribute__((visibility("default")))
// Calls the next definition of the function we stand before.
#define NEXT(name, ...)                                  \
  [&] {                                                  \
    static auto* function = next<decltype(name)>(#name); \
    return function(__VA_ARGS__);                        \
  }()

EXPORT int MPI_Init(int* argc, char*** argv) {
  const int result = NEXT(MPI_Init, argc, argv);
  if (result == MPI_SUCCESS) begin();
  return result;
}
EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = NEXT(MPI_Init_thread, argc, argv, required, provided);
  if (result == MPI_SUCCESS) begin();
  return result;
}
EXPORT int MPI_Finalize(void) {
  end();
  return NEXT(MPI_Finalize);
}

#define SENDS(name)                                                                                 \
  EXPORT int name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    called(comm, to, static_cast<size_t>(count), type, tag, SITE);                                  \
    return NEXT(name, data, count, type, to, tag, comm);                                            \
  }
SENDS(MPI_Send)
SENDS(MPI_Ssend)
SENDS(MPI_Bsend)
SENDS(MPI_Rsend)
#define ISENDS(name)                                                                              \
  EXPORT int name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                  MPI_Request* request) {                                                         \
    called(comm, to, static_cast<size_t>(count), type, tag, SITE);                                \
    return NEXT(name, data, count, type, to, tag, comm, request);                                 \
  }
ISENDS(MPI_Isend)
ISENDS(MPI_Issend)
ISENDS(MPI_Ibsend)
ISENDS(MPI_Irsend)
EXPORT int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int to, int tag, void* in,
                        int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                        MPI_Status* status) {
  called(comm, to, static_cast<size_t>(count), type, tag, SITE);
  return NEXT(MPI_Sendrecv, data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, status);
}
EXPORT int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int tag, int from,
                                int in_tag, MPI_Comm comm, MPI_Status* status) {
  called(comm, to, static_cast<size_t>(count), type, tag, SITE);
  return NEXT(MPI_Sendrecv_replace, data, count, type, to, tag, from, in_tag, comm, status);
}

EXPORT int MPI_Barrier(MPI_Comm comm) {
  called_collective(Collective::kBarrier, comm, 0, 0, SITE);
  return NEXT(MPI_Barrier, comm);
}
EXPORT int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  called_collective(Collective::kBroadcast, comm, root, bytes_of(static_cast<size_t>(count), type), SITE);
  return NEXT(MPI_Bcast, data, count, type, root, comm);
}
EXPORT int MPI_Reduce(const void* data, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm) {
  called_collective(Collective::kReduce, comm, root, bytes_of(static_cast<size_t>(count), type), SITE);
  return NEXT(MPI_Reduce, data, out, count, type, op, root, comm);
}
EXPORT int MPI_Allreduce(const void* data, void* out, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  called_collective(Collective::kAllreduce, comm, 0, bytes_of(static_cast<size_t>(count), type), SITE);
  return NEXT(MPI_Allreduce, data, out, count, type, op, comm);
}
EXPORT int MPI_Gather(const void* data, int count, MPI_Datatype type, void* out, int out_count,
                      MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (data != MPI_IN_PLACE)
    called_collective(Collective::kGather, comm, root, bytes_of(static_cast<size_t>(count), type), SITE);
  return NEXT(MPI_Gather, data, count, type, out, out_count, out_type, root, comm);
}
EXPORT int MPI_Scatter(const void* data, int count, MPI_Datatype type, void* out, int out_count,
                       MPI_Datatype out_type, int root, MPI_Comm comm) {
  const uint64_t bytes = out == MPI_IN_PLACE ? bytes_of(static_cast<size_t>(count), type)
                                             : bytes_of(static_cast<size_t>(out_count), out_type);
  called_collective(Collective::kScatter, comm, root, bytes, SITE);
  return NEXT(MPI_Scatter, data, count, type, out, out_count, out_type, root, comm);
}
EXPORT int MPI_Allgather(const void* data, int count, MPI_Datatype type, void* out, int out_count,
                         MPI_Datatype out_type, MPI_Comm comm) {
  called_collective(Collective::kAllgather, comm, 0, bytes_of(static_cast<size_t>(out_count), out_type),
                    SITE);
  return NEXT(MPI_Allgather, data, count, type, out, out_count, out_type, comm);
}
EXPORT int MPI_Alltoall(const void* data, int count, MPI_Datatype type, void* out, int out_count,
                        MPI_Datatype out_type, MPI_Comm comm) {
  called_collective(Collective::kAlltoall, comm, 0, bytes_of(static_cast<size_t>(out_count), out_type), SITE);
  return NEXT(MPI_Alltoall, data, count, type, out, out_count, out_type, comm);
}
EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  {
    const std::lock_guard guard(shim().lock);
    shim().world_ranks.erase(*comm);
  }
  return NEXT(MPI_Comm_free, comm);
}

// Section marks that the program prints ("Begin of X section.") name the phases.
EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  look_for_mark(static_cast<const char*>(data), size * count);
  return NEXT(fwrite, data, size, count, file);
}
EXPORT int fputs(const char* text, FILE* file) {
  look_for_mark(text, std::strlen(text));
  return NEXT(fputs, text, file);
}
