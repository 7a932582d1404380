// The exchange of requests and replies, by libmicrohttpd, in the thread of the caller.
#include "tools/substrata/serving/http_server.hpp"
#include "base/parse.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace substrata::tool {
namespace {

constexpr std::size_t kMostClients = 200;
// Some more than that, so that a new one is there to take the place of the oldest.
constexpr unsigned kMostConnections = kMostClients + 50;
constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kLongestRequest = 16 * 1024;

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

// Whether the header Host names this machine. Programs that send none are not browsers.
bool is_for_this_machine(const char* host_header) {
  if (host_header == nullptr) return true;
  std::string host = host_header;
  // Without the port.
  const std::size_t last = host.find_last_of(":]");
  if (last != std::string::npos && host[last] == ':') host.resize(last);
  in6_addr six{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) == 1 &&
           IN6_IS_ADDR_LOOPBACK(&six);
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return strcasecmp(host.c_str(), "localhost") == 0;
}

MHD_Result count_hosts(void* count, MHD_ValueKind, const char* name, const char*) {
  if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) ++*static_cast<int*>(count);
  return MHD_YES;
}

// libmicrohttpd's call with a request's target before it is decoded. Returns what take() finds in its state: not null
// if a null byte is in the path, which ends the decoded path early.
void* note_null_in_path(void*, const char* target, MHD_Connection*) {
  static char mark;
  const std::string_view path = std::string_view(target).substr(0, std::strcspn(target, "?"));
  return path.find("%00") == std::string_view::npos ? nullptr : &mark;
}

// Whether a request has the one header Host that RFC 9112, 3.2 demands; HTTP/1.0 may do without.
bool has_right_hosts(MHD_Connection* connection, std::string_view version) {
  int count = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &count_hosts, &count);
  return count == 1 || (count == 0 && version == MHD_HTTP_VERSION_1_0);
}

}  // namespace

HttpServer::HttpServer(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  const std::string port = colon == std::string::npos ? listen : listen.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty() || host == "localhost") host = "127.0.0.1";
  int listener = -1;
  const auto fail = [&](const std::string& why) {
    if (listener >= 0) close(listener);
    throw std::runtime_error("cannot listen at '" + listen + "': " + why +
                             "; write --listen ADDRESS:PORT, as in 127.0.0.1:9100, port 0 for a free one");
  };
  if (std::uint16_t number = 0; leading_number(port, &number) != port.size() || port.empty())
    fail("'" + port + "' is not a port");
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    fail("'" + host + "' is not an address: " + gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) fail(std::strerror(errno));
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listener, SOMAXCONN) != 0)
    fail(std::strerror(errno));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length) != 0) fail(std::strerror(errno));
  address_ = address_text(bound);
  loopback_ = is_loopback(bound);
  // From here on the daemon owns the socket, unless it cannot be started.
  const unsigned flags = MHD_USE_EPOLL | (found->ai_family == AF_INET6 ? unsigned{MHD_USE_IPv6} : 0u);
  daemon_ =
      MHD_start_daemon(flags, 0, nullptr, nullptr, &HttpServer::take, this, MHD_OPTION_LISTEN_SOCKET,
                       listener, MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT,
                       static_cast<unsigned>(kPatience.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                       kLongestRequest, MHD_OPTION_NOTIFY_CONNECTION, &HttpServer::note, this,
                       MHD_OPTION_URI_LOG_CALLBACK, &note_null_in_path, nullptr, MHD_OPTION_END);
  if (daemon_ == nullptr) fail("the server cannot be started");
  descriptor_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

HttpServer::~HttpServer() { MHD_stop_daemon(daemon_); }

MHD_Result HttpServer::take(void* self, MHD_Connection* connection, const char* path, const char* method,
                            const char* version, const char*, std::size_t*, void** state) {
  const std::string_view asked = method;
  HttpReply reply;
  if (!has_right_hosts(connection, version)) {
    reply = {MHD_HTTP_BAD_REQUEST, "text/plain; charset=utf-8", "a request has one header Host\n"};
  } else if (*state != nullptr) {
    reply = {MHD_HTTP_BAD_REQUEST, "text/plain; charset=utf-8", "a path has no null byte\n"};
  } else if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD) {
    reply = {MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", "only GET and HEAD are answered\n"};
  } else if (static_cast<HttpServer*>(self)->loopback_ &&
             !is_for_this_machine(
                 MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST))) {
    reply = {MHD_HTTP_MISDIRECTED_REQUEST, "text/plain; charset=utf-8",
             "this server is asked under the names localhost and 127.0.0.1 only\n"};
  } else {
    HttpRequest request;
    request.path = path;
    const char* const accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    if (accept != nullptr) request.accept = accept;
    reply = (*static_cast<HttpServer*>(self)->answer_)(request);
  }
  MHD_Response* const response =
      MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

void HttpServer::note(void* self, MHD_Connection* connection, void** place,
                      MHD_ConnectionNotificationCode what) {
  std::list<Client>& clients = static_cast<HttpServer*>(self)->clients_;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    clients.push_back({info->connect_fd, std::chrono::steady_clock::now()});
    *place = &clients.back();
  } else {
    clients.remove_if([&](const Client& client) { return &client == *place; });
  }
}

void HttpServer::give_up_slow_clients() {
  const auto now = std::chrono::steady_clock::now();
  std::size_t left = clients_.size();
  for (Client& client : clients_) {
    if (left <= kMostClients && now - client.since < kPatience) break;
    --left;
    if (client.given_up) continue;
    client.given_up = true;
    // The daemon sees the end of the connection and closes it.
    shutdown(client.socket, SHUT_RDWR);
  }
}

void HttpServer::serve_until(std::vector<pollfd>* others,
                             const std::function<HttpReply(const HttpRequest&)>& answer) {
  answer_ = &answer;
  for (;;) {
    std::vector<pollfd> all = *others;
    all.push_back({descriptor_, POLLIN, 0});
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    const bool limited = MHD_get_timeout(daemon_, &milliseconds) == MHD_YES;
    int timeout = limited ? static_cast<int>(std::min<MHD_UNSIGNED_LONG_LONG>(milliseconds, 60'000)) : -1;
    for (const Client& client : clients_) {
      if (client.given_up) continue;
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(client.since + kPatience -
                                                                     std::chrono::steady_clock::now());
      const int until = static_cast<int>(std::max<std::int64_t>(rest.count(), 0));
      timeout = timeout < 0 ? until : std::min(timeout, until);
      break;
    }
    if (poll(all.data(), all.size(), timeout) < 0) {
      if (errno == EINTR) continue;
      throw std::runtime_error("waiting for requests: " + std::string(std::strerror(errno)));
    }
    MHD_run(daemon_);
    give_up_slow_clients();
    bool ready = false;
    for (std::size_t i = 0; i < others->size(); ++i) {
      (*others)[i].revents = all[i].revents;
      ready = ready || all[i].revents != 0;
    }
    if (ready) return;
  }
}

}  // namespace substrata::tool
