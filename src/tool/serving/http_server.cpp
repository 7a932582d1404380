// Sockets that never block, and the first line and headers of a request.
#include "serving/http_server.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>

namespace substrata::tool {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kLongestRequest = 16 * 1024;
constexpr std::int64_t kPatienceNs = 10'000'000'000;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return '[' + std::string(text) + "]:" + std::to_string(ntohs(six.sin6_port));
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return std::string(text) + ':' + std::to_string(ntohs(four.sin_port));
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  return ntohl(four.sin_addr.s_addr) >> 24 == 127;
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

std::string encode(const HttpReply& reply, bool with_body) {
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + ' ' + reason_of(reply.status) +
                    "\r\nContent-Type: " + reply.type +
                    "\r\nContent-Length: " + std::to_string(reply.body.size()) +
                    "\r\nCache-Control: no-store\r\nConnection: close\r\n";
  if (reply.status == 405) out += "Allow: GET, HEAD\r\n";
  out += "\r\n";
  if (with_body) out += reply.body;
  return out;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The answer to a request that has come whole, up to the empty line.
std::string answer_to(const std::string& head, const std::function<HttpReply(const HttpRequest&)>& answer) {
  const std::size_t line_end = head.find("\r\n");
  const std::string line = head.substr(0, line_end);
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == std::string::npos || second == first || line.compare(second + 1, 7, "HTTP/1.") != 0 ||
      line[first + 1] != '/')
    return encode({400, "text/plain; charset=utf-8", "this is no HTTP request\n"}, true);
  const std::string method = line.substr(0, first);
  HttpRequest request;
  request.path = line.substr(first + 1, second - first - 1);
  request.path.resize(std::min(request.path.find('?'), request.path.size()));
  for (std::size_t at = line_end + 2; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    const std::size_t colon = head.find(':', at);
    if (colon < end && lower(head.substr(at, colon - at)) == "accept") {
      if (!request.accept.empty()) request.accept += ',';
      request.accept += head.substr(colon + 1, end - colon - 1);
    }
    at = end + 2;
  }
  if (method != "GET" && method != "HEAD")
    return encode({405, "text/plain; charset=utf-8", "only GET and HEAD are answered\n"}, true);
  return encode(answer(request), method == "GET");
}

}  // namespace

HttpServer::HttpServer(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  const std::string port = colon == std::string::npos ? listen : listen.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty() || host == "localhost") host = "127.0.0.1";
  const auto fail = [&](const std::string& why) {
    if (listener_ >= 0) close(listener_);
    throw std::runtime_error("cannot listen at '" + listen + "': " + why +
                             "; write --listen ADDRESS:PORT, as in 127.0.0.1:9100, port 0 for a free one");
  };
  const bool digits = !port.empty() && port.size() <= 5 &&
                      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(port) > 65535) fail("'" + port + "' is no port");
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    fail("'" + host + "' is no address: " + gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  listener_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) fail(std::strerror(errno));
  const int yes = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listener_, SOMAXCONN) != 0)
    fail(std::strerror(errno));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) fail(std::strerror(errno));
  address_ = address_text(bound);
  loopback_ = is_loopback(bound);
}

HttpServer::~HttpServer() {
  for (const Connection& connection : connections_) close(connection.descriptor);
  close(listener_);
}

void HttpServer::accept_all() {
  for (;;) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool crowded = descriptor < 0 ? errno == EMFILE : connections_.size() == kMostConnections;
    if (crowded && !connections_.empty()) {
      // The one that has been here longest makes room.
      close(connections_.front().descriptor);
      connections_.pop_front();
      if (descriptor < 0) continue;
    }
    if (descriptor < 0) return;
    connections_.push_back({descriptor, now_ns() + kPatienceNs, {}, {}});
  }
}

bool HttpServer::advance(Connection& connection, const std::function<HttpReply(const HttpRequest&)>& answer) {
  char piece[4096];
  for (int pieces = 0; connection.out.empty() || connection.lingering; ++pieces) {
    if (pieces == 16) return true;  // the others' turn
    const ssize_t got = recv(connection.descriptor, piece, sizeof piece, 0);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (connection.lingering) continue;
    connection.in.append(piece, static_cast<std::size_t>(got));
    const std::size_t end = connection.in.find("\r\n\r\n");
    if (end != std::string::npos)
      connection.out = answer_to(connection.in.substr(0, end + 2), answer);
    else if (connection.in.size() > kLongestRequest)
      connection.out = encode({431, "text/plain; charset=utf-8", "the request is too long\n"}, true);
  }
  while (connection.sent < connection.out.size()) {
    const ssize_t sent = send(connection.descriptor, connection.out.data() + connection.sent,
                              connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent += static_cast<std::size_t>(sent);
  }
  // Closing with unread bytes would reset the connection and lose the answer on its way.
  shutdown(connection.descriptor, SHUT_WR);
  connection.lingering = true;
  return true;
}

void HttpServer::serve_until(std::vector<pollfd>* others,
                             const std::function<HttpReply(const HttpRequest&)>& answer) {
  for (;;) {
    std::vector<pollfd> all = *others;
    all.push_back({listener_, POLLIN, 0});
    int timeout = -1;
    const std::int64_t now = now_ns();
    for (const Connection& connection : connections_) {
      const bool sending = !connection.out.empty() && !connection.lingering;
      all.push_back({connection.descriptor, static_cast<short>(sending ? POLLOUT : POLLIN), 0});
      const int left = static_cast<int>(std::max<std::int64_t>(0, connection.until_ns - now) / 1'000'000) + 1;
      timeout = timeout < 0 ? left : std::min(timeout, left);
    }
    if (poll(all.data(), all.size(), timeout) < 0) {
      if (errno == EINTR) continue;
      throw std::runtime_error("waiting for requests: " + std::string(std::strerror(errno)));
    }
    std::size_t at = others->size();
    const bool arrived = all[at++].revents != 0;
    for (auto connection = connections_.begin(); connection != connections_.end(); ++at) {
      const bool over =
          (all[at].revents != 0 && !advance(*connection, answer)) || now_ns() >= connection->until_ns;
      if (over) close(connection->descriptor);
      connection = over ? connections_.erase(connection) : std::next(connection);
    }
    if (arrived) accept_all();
    bool ready = false;
    for (std::size_t i = 0; i < others->size(); ++i) {
      (*others)[i].revents = all[i].revents;
      ready = ready || all[i].revents != 0;
    }
    if (ready) return;
  }
}

}  // namespace substrata::tool
