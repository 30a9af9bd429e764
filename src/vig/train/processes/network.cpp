#include "vig/train/processes/network.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>

#include "vig/base/error.h"

namespace vig::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string words_of(int error) { return std::generic_category().message(error); }

int milliseconds_until(Deadline end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

// A host that vanishes sends nothing: the kernel asks it.
void notice_loss(int descriptor) {
  const int on = 1, idle = 5, tries = 3, unanswered = 20'000;
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof(unanswered));
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

std::string text_of(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  const int failed = getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text : "";
}

// The first address at which other machines may reach this one; empty if there is none.
std::string outside_address() {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(found, freeifaddrs);
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0 || is_loopback(one->ifa_addr)) {
      continue;
    }
    return text_of(one->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

}  // namespace

bool means_this_machine(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

// A datagram socket finds it without sending anything. A machine's own name often leads to its
// loopback, which others cannot reach.
std::string address_towards(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    fail("the host '{}' of process 0 has no address: {} (MASTER_ADDR sets another)", host,
         gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    const int socket_fd = socket(target->ai_family, target->ai_socktype | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) continue;
    sockaddr_storage own = {};
    socklen_t size = sizeof(own);
    auto* address = reinterpret_cast<sockaddr*>(&own);
    const bool known = connect(socket_fd, target->ai_addr, target->ai_addrlen) == 0 &&
                       getsockname(socket_fd, address, &size) == 0;
    close(socket_fd);
    if (!known) continue;
    std::string text = text_of(address, size);
    if (is_loopback(address) && !means_this_machine(host)) {
      const std::string outside = outside_address();
      if (!outside.empty()) text = outside;
    }
    if (!text.empty()) return text;
  }
  fail("no network reaches the host '{}' of process 0 (MASTER_ADDR sets another)", host);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Socket::read_into(std::string& text) const {
  char bytes[4096];
  for (int reads = 0; reads < 16; ++reads) {  // others may send without end
    const ssize_t count = recv(descriptor_, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count > 0) {
      text.append(bytes, static_cast<size_t>(count));
      if (static_cast<size_t>(count) < sizeof(bytes)) return true;
      continue;
    }
    if (count == 0) return false;
    if (errno == EINTR) continue;
    return errno == EAGAIN;
  }
  return true;
}

bool Socket::write(const std::string& text, Deadline end) const {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count =
        send(descriptor_, text.data() + done, text.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      done += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    pollfd waiting = {descriptor_, POLLOUT, 0};
    if (errno != EAGAIN || poll(&waiting, 1, milliseconds_until(end)) <= 0) return false;
  }
  return true;
}

Socket listen_on(const std::string& host, int port) {
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_addr = host == "::1" ? in6addr_loopback : in6addr_any;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(means_this_machine(host) ? INADDR_LOOPBACK : INADDR_ANY);
  v4.sin_port = any.sin6_port;
  int error = 0;
  for (const bool six : {true, false}) {
    if (six && means_this_machine(host) && host != "::1") continue;
    Socket own(socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1, off = 0;
    const auto* address =
        six ? reinterpret_cast<const sockaddr*>(&any) : reinterpret_cast<const sockaddr*>(&v4);
    if (!own) {
      error = errno;
      continue;  // a kernel without IPv6
    }
    setsockopt(own.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (six) setsockopt(own.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(own.descriptor(), address, six ? sizeof(any) : sizeof(v4)) == 0 &&
        listen(own.descriptor(), 1024) == 0) {
      return own;
    }
    error = errno;
    if (error == EADDRINUSE) break;
  }
  fail("cannot listen on {} port {} (MASTER_ADDR, MASTER_PORT): {}", host, port, words_of(error));
}

int port_of(const Socket& listener) {
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&own), &size);
  return own.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port)
                                   : ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
}

Socket accept_from(const Socket& listener) {
  pollfd waiting = {listener.descriptor(), POLLIN, 0};
  if (poll(&waiting, 1, 0) <= 0) return Socket();
  Socket peer(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (peer) notice_loss(peer.descriptor());
  return peer;
}

Socket connect_to(const std::string& host, int port, Deadline end, std::string& why) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    why = gai_strerror(failed);
    return Socket();
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    Socket own(socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!own) continue;
    notice_loss(own.descriptor());
    int error = 0;
    if (connect(own.descriptor(), target->ai_addr, target->ai_addrlen) != 0) {
      error = errno;
      pollfd waiting = {own.descriptor(), POLLOUT, 0};
      if (error == EINPROGRESS) {
        socklen_t size = sizeof(error);
        if (poll(&waiting, 1, milliseconds_until(end)) <= 0) {
          error = ETIMEDOUT;
        } else {
          getsockopt(own.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
        }
      }
    }
    if (error == 0) return own;
    why = words_of(error);
  }
  return Socket();
}

std::string own_host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "unknown";
  return name;
}

std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace vig::train
