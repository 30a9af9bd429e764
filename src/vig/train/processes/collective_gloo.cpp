#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "vig/base/error.h"
#include "vig/train/processes/collective.h"
#include "vig/train/processes/network.h"

namespace vig::train {
namespace {

using c10d::ProcessGroupGloo;

// Connecting has another limit than summing.
class Gloo : public ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;
  void set_timeout(std::chrono::milliseconds timeout) {
    for (const auto& context : contexts_) context->setTimeout(timeout);
  }
};

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
                                    const GroupMember& member, std::chrono::milliseconds connecting,
                                    std::chrono::milliseconds timeout) {
  auto options = ProcessGroupGloo::Options::create(connecting);
  options->devices.push_back(device_for(member));
  auto group = c10::make_intrusive<Gloo>(store, member.rank, member.size, options);
  group->set_timeout(timeout);
  return [group](const at::Tensor& tensor) -> std::function<void()> {
    std::vector<at::Tensor> tensors = {tensor};
    return [work = group->allreduce(tensors)] { work->wait(); };
  };
}

}  // namespace vig::train
