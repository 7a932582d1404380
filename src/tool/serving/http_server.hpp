// Just enough of an HTTP server for one reader after the other: GET and HEAD, one request a connection.
#ifndef SUBSTRATA_TOOL_SERVING_HTTP_SERVER_HPP
#define SUBSTRATA_TOOL_SERVING_HTTP_SERVER_HPP

#include <poll.h>

#include <cstdint>
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

// Listens, reads and answers without ever waiting for one of its clients. Slow, silent, too talkative and too
// many clients are dropped. Thread-bound.
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
  // Nobody but this machine can reach it.
  bool loopback() const noexcept { return loopback_; }

  // Waits until one of `others` is ready and serves meanwhile. `answer` must not throw.
  void serve_until(std::vector<pollfd>* others, const std::function<HttpReply(const HttpRequest&)>& answer);

 private:
  struct Connection {
    int descriptor;
    std::int64_t until_ns;  // after which it is dropped
    std::string in;
    std::string out;
    std::size_t sent = 0;
    bool lingering = false;  // all is sent; what the client still sends is passed over until it closes
  };
  void accept_all();
  // False: the connection is over.
  bool advance(Connection& connection, const std::function<HttpReply(const HttpRequest&)>& answer);

  int listener_ = -1;
  bool loopback_ = true;
  std::string address_;
  std::list<Connection> connections_;
};

}  // namespace substrata::tool

#endif
