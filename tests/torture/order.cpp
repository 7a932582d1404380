// Calls at bad moments: from a timer's handler over every call, among forks, from exit handlers and late destructors,
// and around the unloading of the library.
#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>
#include <sde_lib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <random>
#include <thread>

#include "script.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

std::atomic<bool> ended{false};
std::atomic<std::int64_t> handled{0};
constinit thread_local int running_set = PAPI_NULL;

// Uses what a handler may: reading, clocks, texts, the number of the thread; and on every other call a refusal.
void use_in_handler(int) {
  const int error = errno;
  long long values[4];
  handled.fetch_add(1, std::memory_order_relaxed);
  if (running_set != PAPI_NULL) PAPI_read(running_set, values);
  PAPI_get_real_nsec();
  PAPI_get_virt_nsec();
  PAPI_thread_id();
  PAPI_is_initialized();
  PAPI_read(0x7ffffff0, values);
  PAPI_strerror(PAPI_EINVAL);
  errno = error;
}

// An eventset of the example's events that runs in this thread.
int start_a_set(const char* event = "example:::ticks") {
  int set = PAPI_NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK || PAPI_add_named_event(set, event) != PAPI_OK ||
      PAPI_start(set) != PAPI_OK)
    return PAPI_NULL;
  return set;
}

bool stop_and_destroy(int set) {
  return PAPI_stop(set, nullptr) == PAPI_OK && PAPI_cleanup_eventset(set) == PAPI_OK &&
         PAPI_destroy_eventset(&set) == PAPI_OK;
}

std::string script_under_timer(std::int64_t passes) {
  Script script;
  const std::vector<Call> expected = script.pass();
  struct sigaction action {};
  action.sa_handler = use_in_handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  sigevent how{};
  how.sigev_notify = SIGEV_THREAD_ID;
  how.sigev_signo = SIGUSR1;
  how._sigev_un._tid = gettid();
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &how, &timer) != 0) return "timer_create failed";
  const itimerspec kilohertz{{0, 1'000'000}, {0, 1'000'000}};
  timer_settime(timer, 0, &kilohertz, nullptr);
  std::string wrong;
  for (std::int64_t i = 0; i < passes && wrong.empty(); ++i) wrong = difference(expected, script.pass());
  // A set that runs, read by the thread and by its handler at once.
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
  running_set = start_a_set();
  long long values[4];
  for (std::int64_t i = 0; i < passes * 20'000 && wrong.empty(); ++i) {
    if (const int code = PAPI_read(running_set, values); code != PAPI_OK)
      wrong = "PAPI_read gives " + std::to_string(code) + " under a handler";
    if (i % 64 == 0 && PAPI_reset(running_set) != PAPI_OK) wrong = "PAPI_reset fails under a handler";
    if (i % 256 == 0 && (PAPI_stop(running_set, values) != PAPI_OK || PAPI_start(running_set) != PAPI_OK))
      wrong = "PAPI_stop or PAPI_start fails under a handler";
  }
  timer_delete(timer);
  const int set = running_set;
  running_set = PAPI_NULL;
  if (wrong.empty() && !stop_and_destroy(set)) wrong = "the eventset cannot be stopped afterwards";
  PAPI_shutdown();
  if (wrong.empty()) return "=" + std::to_string(handled.load());
  return wrong;
}

// Signals of an armed counter pile up while they are blocked: more than the queue holds. Their period is some
// times what a signal costs, so that the queue becomes shorter once they are let in.
std::string blocked_signals() {
  constexpr int kPeriodNs = 200'000;
  const rlimit queue{50, 50};
  if (setrlimit(RLIMIT_SIGPENDING, &queue) != 0) return "setrlimit failed";
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  int set = PAPI_NULL, code = 0;
  PAPI_create_eventset(&set);
  if (PAPI_event_name_to_code("perf::TASK-CLOCK", &code) != PAPI_OK || PAPI_add_event(set, code) != PAPI_OK)
    return {};
  const auto handler = [](int, void*, long long, void*) {};
  if (PAPI_overflow(set, code, kPeriodNs, 0, handler) != PAPI_OK) return {};
  if (PAPI_start(set) != PAPI_OK) return {};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  volatile std::uint64_t work = 0;
  const long long begin = PAPI_get_virt_usec();
  while (PAPI_get_virt_usec() - begin < 200'000) work = work + 1;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const int stopped = PAPI_stop(set, nullptr);
  PAPI_shutdown();
  return stopped == PAPI_OK ? "" : "PAPI_stop gives " + std::to_string(stopped);
}

// Each event of a component, with what is known of it.
void list_events() {
  PAPI_event_info_t info;
  for (const char* component : {"example", "perf_event", "owl"}) {
    const int number = PAPI_get_component_index(component);
    int code = PAPI_NATIVE_MASK;
    for (int how = PAPI_ENUM_FIRST, i = 0; i < 20 && PAPI_enum_cmp_event(&code, how, number) == PAPI_OK;
         ++i) {
      PAPI_get_event_info(code, &info);
      how = PAPI_ENUM_EVENTS;
    }
  }
}

// A library that publishes a counter, and withdraws it.
void publish() {
  static constinit thread_local long long value = 0;
  const papi_handle_t library = papi_sde_init("among forks");
  papi_sde_register_counter(library, "value", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &value);
  papi_sde_unregister_counter(library, "value");
  papi_sde_shutdown(library);
}

void arm_an_overflow() {
  int set = PAPI_NULL, code = 0;
  const auto handler = [](int, void*, long long, void*) {};
  if (PAPI_create_eventset(&set) != PAPI_OK) return;
  PAPI_event_name_to_code("perf::TASK-CLOCK", &code);
  PAPI_add_event(set, code);
  PAPI_overflow(set, code, 1'000'000, 0, handler);
  if (PAPI_start(set) == PAPI_OK) PAPI_stop(set, nullptr);
  PAPI_overflow(set, code, 0, 0, handler);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
}

constexpr unsigned kRegions = 5;

// Threads inside calls of each kind, until `ended`.
void keep_calling(unsigned which) {
  PAPI_register_thread();
  long long values[4];
  int code = 0;
  char name[PAPI_MAX_STR_LEN];
  int passes = 0;  // the library keeps each pass of a region
  while (!ended.load(std::memory_order_relaxed)) {
    switch (which % 8) {
      case 0:
        PAPI_event_name_to_code("example:::ticks", &code);
        PAPI_event_code_to_name(code, name);
        break;
      case 1:
        if (const int set = start_a_set(); set != PAPI_NULL) {
          PAPI_read(set, values);
          stop_and_destroy(set);
        }
        break;
      case 2:
        PAPI_query_named_event("PAPI_TOT_CYC");
        PAPI_get_component_index("sde");
        PAPI_read(12345, values);
        break;
      case 3:
        if (const int set = start_a_set("perf::TASK-CLOCK"); set != PAPI_NULL) stop_and_destroy(set);
        break;
      case 4:
        list_events();
        break;
      case kRegions:
        if (++passes > 100'000) {
          std::this_thread::yield();
          break;
        }
        PAPI_hl_region_begin("among forks");
        PAPI_hl_read("among forks");
        PAPI_hl_region_end("among forks");
        break;
      case 6:
        publish();
        break;
      default:
        arm_an_overflow();
        PAPI_get_executable_info();
        PAPI_get_hardware_info();
        break;
    }
  }
  PAPI_unregister_thread();
}

std::string fork_among(std::int64_t forks) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back(keep_calling, i);
  std::string wrong;
  for (std::int64_t i = 0; i < forks && wrong.empty(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // its default action ends a child that hangs
      Script script;
      const std::vector<Call> first = script.pass();
      leave_text(difference(first, script.pass()));
      _exit(shared_text()[0] == '\0' ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      wrong = WTERMSIG(status) == SIGALRM
                  ? "the child hangs"
                  : "the child is ended by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      wrong = std::string("the script answers otherwise the second time in the child: ") + shared_text();
    if (!wrong.empty()) wrong += ", fork " + std::to_string(i);
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  PAPI_shutdown();
  return wrong;
}

// ---- Late calls ----

void refuse_and_read() {
  long long values[4];
  int set = PAPI_NULL;
  PAPI_read(77777, values);
  PAPI_add_named_event(5, "nonsense:::event");
  PAPI_create_eventset(&set);
  PAPI_strerror(PAPI_EINVAL);
  PAPI_hl_region_end("not begun");
}

struct LateObject {
  ~LateObject() { refuse_and_read(); }
  void touch() {}
};
thread_local LateObject made_first, made_second;

void* value_of_key = nullptr;

// A thread that ends while it counts, with destructors of thread-local objects and of keys that call the library.
std::string ending_threads(std::int64_t count) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
  pthread_key_t key;
  pthread_key_create(&key, [](void*) { refuse_and_read(); });
  for (std::int64_t i = 0; i < count; ++i)
    std::thread([&] {
      made_first.touch();
      start_a_set();
      PAPI_hl_region_begin("ends in the middle");
      made_second.touch();
      pthread_setspecific(key, &value_of_key);
    }).join();
  PAPI_thread_id_t threads[4];
  int number = 4;
  PAPI_list_threads(threads, &number);
  PAPI_shutdown();
  return number == 1 ? "" : std::to_string(number - 1) + " threads that have ended are still listed";
}

// Threads that end in the middle of PAPI_shutdown and initialise again.
std::string shutdown_among_threads(std::int64_t rounds) {
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
    PAPI_thread_init(reinterpret_cast<unsigned long (*)()>(pthread_self));
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        start_a_set();
        ++ready;
        while (!go.load()) std::this_thread::yield();
      });
    while (ready.load() < 8) std::this_thread::yield();
    go = true;
    PAPI_shutdown();
    for (std::thread& thread : threads) thread.join();
  }
  return {};
}

// Exit handlers registered before and after the library's own, with regions open and a set running.
std::string calls_at_exit() {
  std::atexit(refuse_and_read);
  std::atexit([] { Script().pass(); });
  static LateObject destroyed_late;
  destroyed_late.touch();
  made_first.touch();
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
  PAPI_hl_region_begin("at exit");
  PAPI_hl_region_end("at exit");
  PAPI_hl_region_begin("never ended");
  start_a_set();
  made_second.touch();
  std::atexit(refuse_and_read);
  std::atexit([] {
    PAPI_hl_region_begin("in an exit handler");
    PAPI_hl_region_end("in an exit handler");
  });
  return {};
}

std::string unwritable_report() {
  setenv("PAPI_OUTPUT_DIRECTORY", "/proc/no such place", 1);
  return calls_at_exit();
}

}  // namespace

Outcome interrupted_calls(const Options& options) {
  Outcome outcome;
  const std::int64_t passes = options.iterations > 0 ? options.iterations : 20;
  // On a busy machine a pass may take half a second.
  const int seconds = options.all || passes > 200 ? 3000 : 100;
  const std::string text = in_a_process([=] { return script_under_timer(passes); }, seconds);
  outcome.tried = passes;
  if (text.empty() || text[0] != '=')
    outcome.failures.push_back("a timer of 1 kHz: " + text);
  else
    outcome.figures.emplace_back("handlers run", text.substr(1));
  const std::string blocked = in_a_process(blocked_signals);
  ++outcome.tried;
  if (!blocked.empty()) outcome.failures.push_back("overflows while signals are blocked: " + blocked);
  return outcome;
}

Outcome forks_among_threads(const Options& options) {
  Outcome outcome;
  outcome.tried = options.iterations > 0 ? options.iterations : 20;
  const std::string wrong =
      in_a_process([&] { return fork_among(outcome.tried); }, 60 + 5 * static_cast<int>(outcome.tried));
  if (!wrong.empty()) outcome.failures.push_back("eight threads inside calls: " + wrong);
  return outcome;
}

Outcome late_calls(const Options& options) {
  Outcome outcome;
  const std::int64_t rounds = options.iterations > 0 ? options.iterations : 40;
  const auto tried = [&](const char* what, const std::function<std::string()>& body) {
    const std::string wrong = in_a_process(body, 60 + static_cast<int>(rounds / 10));
    if (!wrong.empty()) outcome.failures.push_back(std::string(what) + ": " + wrong);
  };
  tried("threads that end while they count", [=] { return ending_threads(rounds); });
  tried("threads that end during PAPI_shutdown", [=] { return shutdown_among_threads(rounds); });
  tried("calls from exit handlers", calls_at_exit);
  tried("calls from exit handlers, report not writable", unwritable_report);
  outcome.tried = 2 * rounds + 2;
  return outcome;
}

// The process exits or shuts down at any moment while threads are inside calls of each kind.
Outcome exits_among_threads(const Options& options) {
  constexpr std::int64_t kLongestLifeUs = 30'000;
  constexpr const char* kEnds[] = {"exit", "PAPI_shutdown and exit", "PAPI_shutdown and PAPI_library_init"};
  Outcome outcome;
  outcome.tried = options.iterations > 0 ? options.iterations : 60;
  std::mt19937_64 random(options.seed);
  const Deadline deadline(options);
  for (std::int64_t i = 0; i < outcome.tried && !deadline.over(); ++i) {
    const std::size_t end = random() % std::size(kEnds);
    const auto life = static_cast<useconds_t>(random() % kLongestLifeUs);
    const std::string wrong = in_a_process([&] {
      if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return "PAPI_library_init failed";
      for (unsigned kind = 0; kind < 8; ++kind) std::thread(keep_calling, kind).detach();
      for (int more = 0; more < 2; ++more) std::thread(keep_calling, kRegions).detach();
      usleep(life);
      if (end == 1) PAPI_shutdown();
      for (int again = 0; end == 2 && again < 50; ++again) {
        PAPI_shutdown();
        PAPI_library_init(PAPI_VER_CURRENT);
      }
      return "";
    });
    if (!wrong.empty())
      outcome.failures.push_back(std::string(kEnds[end]) + " after " + std::to_string(life) +
                                 " us: " + wrong);
  }
  return outcome;
}

Outcome reloaded_library(const Options& options) {
  Outcome outcome;
  outcome.tried = options.iterations > 0 ? options.iterations : 10;
  const std::string count = std::to_string(outcome.tried);
  std::string wrong = in_a_process(
      [&] {
        execl(TORTURE_RELOAD, TORTURE_RELOAD, LIBPAPI, count.c_str(), nullptr);
        return std::string("cannot be run");
      },
      60 + static_cast<int>(outcome.tried));
  if (!wrong.empty()) outcome.failures.push_back("dlopen, use, dlclose: " + wrong);
  return outcome;
}

}  // namespace substrata::torture
