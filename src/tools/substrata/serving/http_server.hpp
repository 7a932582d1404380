// An HTTP server that answers GET and HEAD while its owner also waits for other things.
#pragma once

#include <microhttpd.h>
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace substrata::tool {

struct HttpRequest {
  std::string path;    // without what follows a '?'
  std::string accept;  // the header of that name
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// Listens, reads and answers without ever waiting for one of its clients. A client has ten seconds for its request
// and our answer, however it spends them; where there are 200 clients, a new one takes the place of the oldest. At a
// loopback address only requests for this machine are answered: a page that a browser loaded from elsewhere may reach
// that address under a name of its own. A request without exactly one header Host (HTTP/1.0 may have none), or with a
// null byte in its path, is answered 400. Thread-bound.
class HttpServer {
 public:
  // "127.0.0.1:9100", "[::1]:0", "9100" (loopback); port 0 takes a free one. Throws std::runtime_error with
  // the reason.
  explicit HttpServer(const std::string& listen);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens: "127.0.0.1:40213".
  const std::string& address() const noexcept { return address_; }
  // Only this machine can reach it.
  bool loopback() const noexcept { return loopback_; }

  // Waits until one of `others` is ready and serves meanwhile. `answer` must not throw.
  void serve_until(std::vector<pollfd>* others, const std::function<HttpReply(const HttpRequest&)>& answer);

 private:
  // libmicrohttpd's call for every request.
  static MHD_Result take(void* self, MHD_Connection* connection, const char* path, const char* method,
                         const char* version, const char* body, std::size_t* body_bytes, void** state);

  struct Client {
    int socket;
    std::chrono::steady_clock::time_point since;
    bool given_up = false;
  };
  // libmicrohttpd's call when a client comes and when it is gone.
  static void note(void* self, MHD_Connection* connection, void** place, MHD_ConnectionNotificationCode what);
  // Ends the connections of those whose time is over, and of the oldest where there are too many.
  void give_up_slow_clients();

  std::list<Client> clients_;  // the oldest first
  MHD_Daemon* daemon_ = nullptr;
  int descriptor_ = -1;  // ready when the daemon has something to do
  const std::function<HttpReply(const HttpRequest&)>* answer_ = nullptr;
  bool loopback_ = true;
  std::string address_;
};

}  // namespace substrata::tool
