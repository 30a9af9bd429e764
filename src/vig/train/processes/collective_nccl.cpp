#include "vig/base/error.h"
#include "vig/train/processes/collective.h"

#ifdef USE_C10D_NCCL

#include <c10/core/impl/VirtualGuardImpl.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace vig::train {

GradientBuckets::Start connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GroupMember& member, const at::Device& device,
                                    std::chrono::milliseconds timeout) {
  const c10::impl::VirtualGuardImpl devices(device.type());
  const int count = devices.deviceCount();
  if (count == 0) fail("there is no CUDA device");
  const int index = device.has_index() ? device.index() : member.local_rank % count;
  devices.setDevice(at::Device(device.type(), static_cast<c10::DeviceIndex>(index)));
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto group =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(store, member.rank, member.size, options);
  return [group, timeout](const at::Tensor& tensor) -> std::function<void()> {
    std::vector<at::Tensor> tensors = {tensor};
    return [work = group->allreduce(tensors), timeout] { work->wait(timeout); };
  };
}

}  // namespace vig::train

#else

namespace vig::train {

GradientBuckets::Start connect_nccl(const c10::intrusive_ptr<c10d::Store>&, const GroupMember&,
                                    const at::Device&, std::chrono::milliseconds) {
  fail_usage("this LibTorch has no NCCL, which several processes need on CUDA");
}

}  // namespace vig::train

#endif
