#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "vig/base/error.h"
#include "vig/train/processes/collective.h"

namespace vig::train {
namespace {

using c10d::ProcessGroupGloo;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

bool means_this_machine(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
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

// The address of this machine on the route to another one; a datagram socket finds it without
// sending anything. A machine's own name often leads to its loopback, which others cannot reach.
std::string address_towards(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0)
    fail("MASTER_ADDR is '{}', which has no address: {}", host, gai_strerror(failed));
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
  fail("MASTER_ADDR is '{}', which no network reaches", host);
}

std::shared_ptr<::gloo::transport::Device> device_for(const GroupMember& member) {
  if (!member.file.empty()) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    return ProcessGroupGloo::createDeviceForInterface(interface);
  }
  return ProcessGroupGloo::createDeviceForHostname(address_towards(member.host, member.port));
}

}  // namespace

GradientBuckets::Start connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GroupMember& member, std::chrono::milliseconds timeout) {
  auto options = ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device_for(member));
  auto group = c10::make_intrusive<ProcessGroupGloo>(store, member.rank, member.size, options);
  return [group](const at::Tensor& tensor) -> std::function<void()> {
    std::vector<at::Tensor> tensors = {tensor};
    return [work = group->allreduce(tensors)] { work->wait(); };
  };
}

}  // namespace vig::train
