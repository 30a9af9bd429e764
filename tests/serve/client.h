// A client that says exactly what a test wants, right or wrong, over a socket of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vig::test {

struct HttpReply {
  int status = 0;                              // 0: the connection ended without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class Client {
 public:
  explicit Client(uint16_t port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False where the other side has closed the connection.
  bool send(std::string_view bytes);
  // Sends no more, and still reads.
  void half_close();
  // One reply; waits for it for a minute at most. `head`: of a HEAD request, which has no body.
  HttpReply read(bool head = false);
  // Whether the other side closes the connection, within a minute, and sends nothing before.
  bool ends();

 private:
  bool fill();  // false at the end

  int socket_ = -1;
  std::string buffer_;
};

// A whole request. `headers`: lines that end in \r\n.
std::string request_text(const std::string& method, const std::string& target,
                         std::string_view body = "", const std::string& headers = "");
HttpReply ask(uint16_t port, const std::string& request);

}  // namespace vig::test
