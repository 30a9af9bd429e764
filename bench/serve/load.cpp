// serve_load PORT PICTURE [CLIENTS [SECONDS [TARGET]]]: clients that each keep a connection to a
// server on this machine, send the picture, wait for the answer and send it again. Prints the
// pictures answered per second and the median and 99th percentile of the time for one. Every answer
// is compared with the first. VIG_TOKEN is sent where it is set.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The status line and the body of the answer.
  std::string ask(const std::string& request) {
    for (size_t sent = 0; sent < request.size();) {
      const ssize_t n = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) throw std::runtime_error("the server closed the connection");
      sent += static_cast<size_t>(n);
    }
    size_t head;
    while ((head = buffer_.find("\r\n\r\n")) == std::string::npos) fill();
    const size_t field = buffer_.find("Content-Length: ");
    if (field > head) throw std::runtime_error("an answer without a length");
    const size_t length = std::strtoul(buffer_.c_str() + field + 16, nullptr, 10);
    while (buffer_.size() < head + 4 + length) fill();
    const std::string answer =
        buffer_.substr(0, buffer_.find('\r')) + "\n" + buffer_.substr(head + 4, length);
    buffer_.erase(0, head + 4 + length);
    return answer;
  }

 private:
  void fill() {
    char bytes[65536];
    const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n <= 0) throw std::runtime_error("the server closed the connection");
    buffer_.append(bytes, static_cast<size_t>(n));
  }

  int socket_;
  std::string buffer_;
};

std::string make_request(const std::string& file, const std::string& target) {
  std::ifstream in(file, std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(in), {}};
  if (body.empty()) throw std::runtime_error(file + ": cannot be read");
  const char* const token = std::getenv("VIG_TOKEN");
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n" +
         (token != nullptr ? "Authorization: Bearer " + std::string(token) + "\r\n" : "") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

int run(int port, const std::string& request, int clients, double seconds) {
  const std::string expected = Connection(port).ask(request);
  if (!expected.starts_with("HTTP/1.1 200 ")) {
    throw std::runtime_error("the server answers " + expected.substr(0, 300));
  }
  std::mutex mutex;
  std::vector<double> times;
  std::atomic<int> failed = 0, different = 0;
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      std::vector<double> own;
      try {
        Connection connection(port);
        while (Clock::now() < end) {
          const auto sent = Clock::now();
          if (connection.ask(request) != expected) ++different;
          own.push_back(std::chrono::duration<double>(Clock::now() - sent).count());
        }
      } catch (const std::exception&) {
        ++failed;
      }
      const std::lock_guard lock(mutex);
      times.insert(times.end(), own.begin(), own.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double taken = std::chrono::duration<double>(Clock::now() - start).count();
  if (times.empty()) throw std::runtime_error("no answers");
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return 1000 * times[std::min(times.size() - 1,
                                 static_cast<size_t>(part * static_cast<double>(times.size())))];
  };
  std::printf("%d clients, %.0f s: %.1f images/s, median %.1f ms, p99 %.1f ms\n", clients, taken,
              static_cast<double>(times.size()) / taken, at(0.5), at(0.99));
  if (failed + different > 0) {
    std::printf("%d clients failed, %d answers differ\n", failed.load(), different.load());
  }
  return failed + different > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 6) {
    std::fprintf(stderr, "usage: serve_load PORT PICTURE [CLIENTS [SECONDS [TARGET]]]\n");
    return 2;
  }
  return run(std::atoi(argv[1]), make_request(argv[2], argc > 5 ? argv[5] : "/v1/classify"),
             argc > 3 ? std::max(1, std::atoi(argv[3])) : 64, argc > 4 ? std::atof(argv[4]) : 10);
} catch (const std::exception& error) {
  std::fprintf(stderr, "serve_load: %s\n", error.what());
  return 1;
}
