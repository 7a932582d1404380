// A program that runs beside the test: what it writes is read while it runs, and it is ended by a signal.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace substrata::tests {

// Standard input is nothing, and output too unless there is a file for it. Ended with the object.
class RunningProgram {
 public:
  explicit RunningProgram(const std::vector<std::string>& words, const std::string& out = "/dev/null") {
    int errors[2];
    if (pipe2(errors, O_CLOEXEC) != 0) return;
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
      dup2(nowhere, STDIN_FILENO);
      dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), STDOUT_FILENO);
      dup2(errors[1], STDERR_FILENO);
      // Tests that run in the background inherit these ignored, and so would the program and its command.
      for (const int number : {SIGHUP, SIGINT, SIGQUIT}) std::signal(number, SIG_DFL);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(errors[1]);
    errors_ = errors[0];
  }
  ~RunningProgram() {
    if (pid_ > 0) end(SIGKILL);
    if (errors_ >= 0) close(errors_);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }
  // Standard error up to `what`, or up to its end.
  std::string errors_until(const std::string& what) {
    std::string text;
    char c = 0;
    while (text.find(what) == std::string::npos) {
      const ssize_t got = read(errors_, &c, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      text += c;
    }
    return text;
  }
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }
  // Its exit status, 128 + signal when it was killed.
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int end(int signal) {
    kill(pid_, signal);
    return wait();
  }

 private:
  pid_t pid_ = -1;
  int errors_ = -1;
};

// A connection to a port of this machine; -1 when there is none.
inline int connect_to(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

// Sends a request and gives all that comes back until the other side closes, or until nothing has come for a minute.
inline std::string reply_of(int port, const std::string& request) {
  const int descriptor = connect_to(port);
  if (descriptor < 0) return "no connection";
  const timeval minute{60, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t now = send(descriptor, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (now < 0) break;
    sent += static_cast<std::size_t>(now);
  }
  std::string reply;
  char piece[4096];
  for (ssize_t got; (got = recv(descriptor, piece, sizeof piece, 0)) > 0;)
    reply.append(piece, static_cast<std::size_t>(got));
  close(descriptor);
  return reply;
}

}  // namespace substrata::tests
