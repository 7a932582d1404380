// A program in a pseudo-terminal: what it shows, what is typed, and how the terminal is set meanwhile.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace substrata::tests {

// A program in a terminal of its own, of 100 columns and 30 rows.
class InTerminal {
 public:
  explicit InTerminal(std::vector<std::string> words) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[100];
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0 ||
        ptsname_r(master_, name, sizeof name) != 0)
      return;
    slave_ = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave_ < 0) return;
    resize(100, 30);
    tcgetattr(slave_, &before_);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    setenv("TERM", "xterm", 1);
    pid_ = fork();
    if (pid_ == 0) {
      setsid();
      ioctl(slave_, TIOCSCTTY, 0);
      for (const int descriptor : {0, 1, 2}) dup2(slave_, descriptor);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~InTerminal() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
    for (const int descriptor : {master_, slave_})
      if (descriptor >= 0) close(descriptor);
  }
  InTerminal(const InTerminal&) = delete;
  InTerminal& operator=(const InTerminal&) = delete;

  bool works() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // What the program shows until `text` was in it, since the last call; less if it
  // falls silent or the character `end` comes.
  std::string until(const std::string& text, char end = '\0') {
    std::string shown = std::exchange(unread_, {});
    char c = 0;
    pollfd ready{master_, POLLIN, 0};
    while (shown.find(text) == std::string::npos && poll(&ready, 1, 100'000) == 1 &&
           read(master_, &c, 1) == 1) {
      shown += c;
      if (end != '\0' && c == end) break;
    }
    return shown;
  }
  // What is there to be read now, and what was read while waiting.
  std::string rest() {
    read_on(0);
    return std::exchange(unread_, {});
  }
  bool type(const std::string& keys) {
    return write(master_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size());
  }
  void resize(unsigned short columns, unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    ioctl(master_, TIOCSWINSZ, &size);
  }
  // Lines are read whole and echoed, as they were when the program began.
  bool as_before() const {
    termios now{};
    return tcgetattr(slave_, &now) == 0 && now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
           now.c_oflag == before_.c_oflag;
  }
  bool raw() const {
    termios now{};
    return tcgetattr(slave_, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == 0;
  }
  // Reads while it waits: a terminal that nobody reads from stops its program.
  int wait(int options = 0) {
    int status = 0;
    for (;;) {
      const pid_t got = waitpid(pid_, &status, options | WNOHANG);
      if (got < 0 && errno != EINTR) return -1;
      if (got == pid_) break;
      read_on(20);
    }
    if (WIFSTOPPED(status)) return kStopped;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  static constexpr int kStopped = 1000;

 private:
  void read_on(int wait_ms) {
    pollfd ready{master_, POLLIN, 0};
    char piece[4096];
    for (; poll(&ready, 1, wait_ms) == 1 && (ready.revents & POLLIN) != 0; wait_ms = 0) {
      const ssize_t got = read(master_, piece, sizeof piece);
      if (got <= 0) return;
      unread_.append(piece, static_cast<std::size_t>(got));
    }
  }
  std::string unread_;
  int master_ = -1, slave_ = -1;
  pid_t pid_ = -1;
  termios before_{};
};

}  // namespace substrata::tests
