#include "serve/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace vig::test {

Client::Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect");
  }
}

Client::~Client() { ::close(socket_); }

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void Client::half_close() { ::shutdown(socket_, SHUT_WR); }

bool Client::fill() {
  pollfd ready{socket_, POLLIN, 0};
  if (poll(&ready, 1, 60000) != 1) throw std::runtime_error("no reply for a minute");
  char bytes[65536];
  const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

HttpReply Client::read(bool head) {
  size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return {};
  }
  HttpReply reply;
  reply.status = std::atoi(buffer_.c_str() + buffer_.find(' '));
  size_t line = buffer_.find("\r\n") + 2;
  while (line < end + 2) {
    const size_t next = buffer_.find("\r\n", line), colon = buffer_.find(": ", line);
    std::string name = buffer_.substr(line, colon - line);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    reply.headers[name] = buffer_.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  buffer_.erase(0, end + 4);
  const size_t length =
      head ? 0 : std::strtoul(reply.header("content-length").c_str(), nullptr, 10);
  while (buffer_.size() < length) {
    if (!fill()) return {};
  }
  reply.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return reply;
}

bool Client::ends() { return buffer_.empty() && !fill(); }

std::string request_text(const std::string& method, const std::string& target,
                         std::string_view body, const std::string& headers) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

HttpReply ask(uint16_t port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.read();
}

}  // namespace vig::test
