// Any bytes as requests to the server of `substrata serve`, from a client that then closes its side: the server reads
// them and lives, and what it sends begins as a reply does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/substrata/serving/http_server.hpp"

namespace {

using substrata::tool::HttpReply;
using substrata::tool::HttpRequest;
using substrata::tool::HttpServer;

int connect_to(const std::string& address) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) std::abort();
  const linger at_once{1, 0};  // no port is left waiting
  setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return client;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static HttpServer* const server = [] {
    std::signal(SIGPIPE, SIG_IGN);
    return new HttpServer("127.0.0.1:0");
  }();
  const int client = connect_to(server->address());
  send(client, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(client, SHUT_WR);
  const auto answer = [](const HttpRequest& request) {  // a path may be empty: up to a zero byte
    return HttpReply{200, "text/plain", request.path + '\n' + request.accept};
  };
  // The server would wait ten seconds for the rest of a request: here it looks a few times, without waiting.
  static const int ready = eventfd(1, EFD_CLOEXEC);
  std::string reply;
  ssize_t got = -1;
  for (int look = 0; look < 8 && got != 0; ++look) {
    std::vector<pollfd> others = {{ready, POLLIN, 0}};
    server->serve_until(&others, answer);
    char piece[4096];
    got = recv(client, piece, sizeof piece, MSG_DONTWAIT);
    if (got > 0) reply.append(piece, static_cast<size_t>(got));
  }
  close(client);
  if (!reply.empty() && !reply.starts_with("HTTP/1.")) std::abort();
  return 0;
}
