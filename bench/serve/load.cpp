// serve_load: clients of a server on this machine, all in one thread, so that they take little of
// the time that they measure. Each keeps a connection, sends a request, waits for the response and
// sends the next one. Responses to the same request must be the same bytes. VIG_TOKEN is sent where
// it is set. Hostile clients have a thread of their own. Prints what was seen as lines of a name
// and a value; status 1 where something was wrong.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int port = 0;
  int clients = 64;
  double seconds = 10;
  size_t requests = 0;  // 0: as many as the seconds allow
  int server = 0;       // the process whose memory is watched
  bool soak = false;    // several sizes and routes, and every tenth request broken
  int hostile = 0;      // further malicious clients
  std::vector<std::string> images;
};

// A request, and what it must bring.
struct Kind {
  std::string bytes;
  int status = 200;
  std::string response;  // the first one
};

std::string read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) throw std::runtime_error(file + ": cannot be read");
  return bytes;
}

Kind make_kind(const std::string& target, const std::string& body, int status = 200) {
  const char* const token = std::getenv("VIG_TOKEN");
  return {"POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n" +
              (token != nullptr ? "Authorization: Bearer " + std::string(token) + "\r\n" : "") +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
          status, ""};
}

// The requests in the order in which they are sent, again and again.
std::vector<Kind> make_kinds(const Options& options) {
  std::vector<std::string> images;
  for (const std::string& file : options.images) images.push_back(read_file(file));
  std::vector<Kind> kinds;
  if (!options.soak) {
    for (const std::string& one : images) kinds.push_back(make_kind("/v1/classify", one));
    return kinds;
  }
  const std::string cut = images[0].substr(0, images[0].size() / 3);
  const std::vector<Kind> broken = {make_kind("/v1/classify", cut, 422),
                                    make_kind("/v1/embed", "this is not an image", 422),
                                    make_kind("/v1/classify?top=none", images[0], 400),
                                    make_kind("/v1/classify?model=none", images[0], 404)};
  const std::vector<std::string> targets = {"/v1/classify",       "/v1/classify?size=96",
                                            "/v1/embed",          "/v1/classify?size=64",
                                            "/v1/classify?top=1", "/v1/embed?size=128"};
  for (size_t i = 0; i < 20 * broken.size(); ++i) {
    if (i % 10 == 9) {
      kinds.push_back(broken[i / 10 % broken.size()]);
    } else {
      kinds.push_back(make_kind(targets[i % targets.size()], images[i % images.size()]));
    }
  }
  return kinds;
}

// A connection to the server.
int open_connection(int port) {
  const int opened = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(opened, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
  fcntl(opened, F_SETFL, O_NONBLOCK);
  return opened;
}

// Malicious clients: half of them are idle, the others send one of the texts below, and
// then a byte a second for as long as the server takes it. Those that are refused come again.
class HostileClients {
 public:
  HostileClients(int port, int count) {
    for (int i = 0; i < count; ++i) sockets_.push_back(open_connection(port));
    if (count > 0) thread_ = std::jthread([this, port](std::stop_token stop) { run(port, stop); });
  }
  ~HostileClients() {
    thread_ = {};
    for (const int one : sockets_) ::close(one);
  }
  HostileClients(const HostileClients&) = delete;
  HostileClients& operator=(const HostileClients&) = delete;

 private:
  void run(int port, const std::stop_token& stop) {
    const std::string post = "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\n";
    const std::string get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::string many;
    for (int i = 0; i < 20; ++i) many += get;
    const std::vector<std::string> texts = {
        post + "X-Slow: ",                                        // a header without an end
        post + "Content-Length: 100000\r\n\r\n",                  // a slow body
        post + "Content-Length: 1073741824\r\n\r\n",              // a gigabyte
        post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",        // nonsense for a chunk
        post + "Content-Length: 1\r\nContent-Length: 9\r\n\r\n",  // two lengths
        many,                // more than it reads responses for
        get.substr(0, 30)};  // half a request, then silence
    std::vector<bool> begun(sockets_.size(), false);
    const size_t group = std::max<size_t>(1, sockets_.size() / 100);
    for (size_t i = 0; !stop.stop_requested(); i = (i + 1) % sockets_.size()) {
      if (i % group == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (i % 2 == 0) continue;  // idle
      const size_t kind = i / 2 % texts.size();
      const std::string bytes = begun[i] ? "a" : texts[kind];
      begun[i] = true;
      if (kind + 1 == texts.size()) ::shutdown(sockets_[i], SHUT_WR);
      char response[4096];
      const ssize_t sent = ::send(sockets_[i], bytes.data(), bytes.size(), MSG_NOSIGNAL);
      const ssize_t got = kind == 5 ? -1 : ::recv(sockets_[i], response, sizeof response, 0);
      if (got == 0 || (sent < 0 && errno != EAGAIN)) {
        ::close(sockets_[i]);
        sockets_[i] = open_connection(port);
        begun[i] = false;
      }
    }
  }

  std::vector<int> sockets_;
  std::jthread thread_;
};

struct Seen {
  std::vector<double> milliseconds;  // of responses as they should be
  std::map<int, size_t> statuses;    // how often each
  std::vector<double> memory;        // of the server, in the order of the responses
  size_t sent = 0, responses = 0, lost = 0, different = 0, unexpected = 0;
};

class Client {
 public:
  Client(int port, int poll, std::vector<Kind>& kinds) : port_(port), poll_(poll), kinds_(kinds) {
    connect();
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool waits() const { return kind_ != nullptr; }

  void begin(size_t request, Seen& seen) {
    kind_ = &kinds_[request % kinds_.size()];
    sent_ = 0;
    since_ = Clock::now();
    ++seen.sent;
    write();
  }
  // Takes what has come; true when the response is complete.
  bool proceed(Seen& seen) {
    write();
    char bytes[65536];
    for (;;) {
      const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count > 0) {
        buffer_.append(bytes, static_cast<size_t>(count));
        continue;
      }
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (waits() && !is_complete(seen)) {
        ++seen.lost;
        kind_ = nullptr;
      }
      reconnect();
      return true;
    }
    return waits() && is_complete(seen);
  }

 private:
  void connect() {
    socket_ = open_connection(port_);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.ptr = this;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, socket_, &event) != 0) {
      throw std::runtime_error("epoll_ctl failed");
    }
  }
  void reconnect() {
    ::close(socket_);
    buffer_.clear();
    connect();
  }
  void write() {
    while (waits() && sent_ < kind_->bytes.size()) {
      const ssize_t count =
          ::send(socket_, kind_->bytes.data() + sent_, kind_->bytes.size() - sent_, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent_ += static_cast<size_t>(count);
    }
  }
  bool is_complete(Seen& seen) {
    const size_t head = buffer_.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const size_t field = buffer_.find("Content-Length: ");
    if (field > head) throw std::runtime_error("a response without a length");
    const size_t length = std::strtoul(buffer_.c_str() + field + 16, nullptr, 10);
    if (buffer_.size() < head + 4 + length) return false;
    const int status = std::atoi(buffer_.c_str() + 9);
    const std::string body = buffer_.substr(head + 4, length);
    buffer_.erase(0, head + 4 + length);
    count(status, body, seen);
    kind_ = nullptr;
    return true;
  }
  void count(int status, const std::string& body, Seen& seen) {
    ++seen.responses;
    ++seen.statuses[status];
    if (status == 503) return;  // come back later: no response to compare
    if (status != kind_->status) {
      if (seen.unexpected++ == 0) {
        std::fprintf(stderr, "serve_load: status %d instead of %d: %.300s\n", status, kind_->status,
                     body.c_str());
      }
      return;
    }
    if (kind_->response.empty()) kind_->response = body;
    if (kind_->response != body) ++seen.different;
    if (status == 200) {
      const std::chrono::duration<double, std::milli> taken = Clock::now() - since_;
      seen.milliseconds.push_back(taken.count());
    }
  }

  const int port_, poll_;
  std::vector<Kind>& kinds_;
  int socket_ = -1;
  Kind* kind_ = nullptr;  // of the request that waits for its response
  size_t sent_ = 0;       // bytes of it
  Clock::time_point since_;
  std::string buffer_;
};

// Resident bytes.
double memory_of(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/statm");
  double pages = 0;
  in >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double mean(const std::vector<double>& values, double from, double to) {
  const auto at = [&](double part) {
    return static_cast<size_t>(part * static_cast<double>(values.size()));
  };
  double sum = 0;
  for (size_t i = at(from); i < at(to); ++i) sum += values[i];
  return sum / static_cast<double>(std::max<size_t>(1, at(to) - at(from)));
}

Seen run(const Options& options, double& seconds) {
  std::vector<Kind> kinds = make_kinds(options);
  const HostileClients hostile(options.port, options.hostile);
  const int poll = epoll_create1(0);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < options.clients; ++i) {
    clients.push_back(std::make_unique<Client>(options.port, poll, kinds));
  }
  Seen seen;
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto more = [&] {
    return options.requests > 0 ? seen.sent < options.requests : passed() < options.seconds;
  };
  size_t busy = 0;
  for (const auto& one : clients) {
    if (!more()) break;
    one->begin(seen.sent, seen);
    ++busy;
  }
  std::vector<epoll_event> events(clients.size());
  const size_t sample = std::max<size_t>(1, options.requests / 2000);
  while (busy > 0) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), 60000);
    if (count == 0) throw std::runtime_error("no response for a minute");
    for (int i = 0; i < count; ++i) {
      auto* const client = static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr);
      const bool waited = client->waits();
      if (!client->proceed(seen) || !waited) continue;
      if (options.server > 0 && (seen.responses + seen.lost) % sample == 0) {
        seen.memory.push_back(memory_of(options.server));
      }
      if (more()) {
        client->begin(seen.sent, seen);
      } else {
        --busy;
      }
    }
  }
  seconds = passed();
  ::close(poll);
  return seen;
}

bool report(const Options& options, Seen& seen, double seconds) {
  if (seen.milliseconds.empty()) throw std::runtime_error("no responses");
  std::sort(seen.milliseconds.begin(), seen.milliseconds.end());
  const auto at = [&](double part) {
    const auto i = static_cast<size_t>(part * static_cast<double>(seen.milliseconds.size()));
    return seen.milliseconds[std::min(seen.milliseconds.size() - 1, i)];
  };
  size_t faults = 0;
  for (const auto& [status, count] : seen.statuses) {
    if (status >= 500 && status != 503) faults += count;
  }
  std::printf("clients %d\nseconds %.2f\nrequests %zu\nresponses %zu\n", options.clients, seconds,
              seen.sent, seen.responses);
  std::printf("images_per_second %.2f\nmedian_ms %.2f\np99_ms %.2f\n",
              static_cast<double>(seen.milliseconds.size()) / seconds, at(0.5), at(0.99));
  for (const auto& [status, count] : seen.statuses) std::printf("status_%d %zu\n", status, count);
  std::printf("lost %zu\nunexpected %zu\ndifferent %zu\nfaults %zu\n", seen.lost, seen.unexpected,
              seen.different, faults);
  if (!seen.memory.empty()) {
    const double early = mean(seen.memory, 0.1, 0.2), late = mean(seen.memory, 0.9, 1);
    std::printf("memory_second_tenth_mb %.2f\nmemory_last_tenth_mb %.2f\nmemory_growth %.4f\n",
                early / 1e6, late / 1e6, late / early - 1);
  }
  return seen.lost + seen.unexpected + seen.different + faults == 0;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(word + " needs a value");
      return argv[++i];
    };
    if (word == "--port")
      options.port = std::stoi(value());
    else if (word == "--clients")
      options.clients = std::max(1, std::stoi(value()));
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--requests")
      options.requests = std::stoul(value());
    else if (word == "--server")
      options.server = std::stoi(value());
    else if (word == "--hostile")
      options.hostile = std::max(0, std::stoi(value()));
    else if (word == "--soak")
      options.soak = true;
    else
      options.images.push_back(word);
  }
  if (options.port == 0 || options.images.empty()) throw std::invalid_argument("no port or image");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  double seconds = 0;
  Seen seen = run(options, seconds);
  return report(options, seen, seconds) ? 0 : 1;
} catch (const std::invalid_argument& error) {
  std::fprintf(
      stderr,
      "serve_load: %s\nusage: serve_load --port N [--clients N] [--seconds S | --requests N] "
      "[--soak] [--hostile N] [--server PID] IMAGE...\n",
      error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "serve_load: %s\n", error.what());
  return 1;
}
