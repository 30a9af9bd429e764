#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "vig/base/error.h"
#include "vig/train/collective.h"

namespace vig::train {
namespace {

using c10d::ProcessGroupGloo;

// The address that this machine has on the way to another one; a datagram socket finds it without
// sending anything. A machine's own name often leads to an address that others cannot reach.
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
    char text[NI_MAXHOST];
    const bool known =
        connect(socket_fd, target->ai_addr, target->ai_addrlen) == 0 &&
        getsockname(socket_fd, address, &size) == 0 &&
        getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0;
    close(socket_fd);
    if (known) return text;
  }
  fail("MASTER_ADDR is '{}', to which no network leads", host);
}

std::shared_ptr<::gloo::transport::Device> device_for(const GroupPlace& place) {
  if (!place.file.empty()) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    return ProcessGroupGloo::createDeviceForInterface(interface);
  }
  return ProcessGroupGloo::createDeviceForHostname(address_towards(place.host, place.port));
}

}  // namespace

GradientBuckets::Start connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GroupPlace& place, std::chrono::milliseconds timeout) {
  auto options = ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device_for(place));
  auto group = c10::make_intrusive<ProcessGroupGloo>(store, place.rank, place.size, options);
  return [group](const at::Tensor& tensor) -> std::function<void()> {
    std::vector<at::Tensor> tensors = {tensor};
    return [work = group->allreduce(tensors)] { work->wait(); };
  };
}

}  // namespace vig::train
