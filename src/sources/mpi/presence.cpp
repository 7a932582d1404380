// The board is a file in /dev/shm under a name that follows from the job's; who decides removes it.
#include "sources/mpi/presence.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/environment.hpp"
#include "base/parse.hpp"
#include "base/shared_file.hpp"

namespace substrata::mpi {
namespace {

int number(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables) {
    int64_t out = 0;
    const char* const text = environment(variable);
    if (text != nullptr && parse_integer(text, &out) && out >= 0 && out < INT32_MAX)
      return static_cast<int>(out);
  }
  return otherwise;
}

// MPICH's launcher names no job; each rank has a socket to it, which says whose it is.
std::string job_of_socket() {
  const int file = number({"PMI_FD"}, -1);
  ucred of_launcher{};
  socklen_t size = sizeof of_launcher;
  if (file < 0 || getsockopt(file, SOL_SOCKET, SO_PEERCRED, &of_launcher, &size) != 0 || of_launcher.pid <= 0)
    return {};
  return "PMI of " + std::to_string(of_launcher.pid);
}

constexpr mode_t kOwn = 0600;

}  // namespace

JobPlace job_place() {
  JobPlace out;
  for (const char* variable :
       {"PMIX_NAMESPACE", "PMIX_SERVER_URI2", "PMI_PORT", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"})
    if (const char* const value = environment(variable)) out.job += std::string(value) + " ";
  out.job += job_of_socket();
  out.rank = number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}, -1);
  out.ranks = number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 0);
  out.ranks_here = number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 0);
  return out;
}

Presence::~Presence() {
  if (board_ != nullptr) munmap(board_, bytes_);
}

void Presence::announce(const JobPlace& place) {
  if (board_ != nullptr || place.job.empty() || place.rank < 0 || place.rank >= place.ranks) return;
  if (place.ranks_here != 0 && place.ranks_here < place.ranks) return;
  char name[80];
  std::snprintf(name, sizeof name, "/dev/shm/substrata-mpi-job-%u-%zx", geteuid(),
                std::hash<std::string>{}(place.job));
  bytes_ = sizeof(Board) + static_cast<size_t>(place.ranks);
  const int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwn);
  if (file < 0) return;
  struct stat about {};
  void* memory = MAP_FAILED;
  // Another user's may say what it likes.
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
      (about.st_mode & 077) == 0 && reserve_file(file, bytes_) == 0)
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  path_ = name;
  ranks_ = place.ranks;
  board_ = static_cast<Board*>(memory);
  auto* const here = reinterpret_cast<std::atomic<uint8_t>*>(board_ + 1);
  if (here[place.rank].exchange(1) == 0) board_->present.fetch_add(1);
}

void Presence::decide(Answer answer) {
  uint32_t open = kOpen;
  if (!board_->answer.compare_exchange_strong(open, answer)) return;
  is_speaker_ = true;
  unlink(path_.c_str());  // whoever comes later is alone on another one
}

bool Presence::all_there(int ranks, std::chrono::nanoseconds limit) {
  if (ranks == 1) return true;
  if (board_ == nullptr) return false;
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const uint32_t answer = board_->answer.load();
    present_ = static_cast<int>(board_->present.load());
    if (answer != kOpen) return answer == kYes;
    if (ranks != ranks_)
      decide(kNo);
    else if (present_ >= ranks)
      decide(kYes);
    else if (std::chrono::steady_clock::now() >= end)
      decide(kNo);
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace substrata::mpi
