// LibTorch's collective operations that sum tensors over processes.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "vig/train/processes/gradient_buckets.h"
#include "vig/train/processes/group_member.h"

namespace vig::train {

// Both connect to all others, and give the call that sums. With Gloo, connecting has a limit of its
// own.
GradientBuckets::Start connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GroupMember& member, std::chrono::milliseconds connecting,
                                    std::chrono::milliseconds timeout);
// For CUDA; chooses this process's device, too, unless `device` names one. Throws Error (usage)
// where LibTorch has no NCCL.
GradientBuckets::Start connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                                    const GroupMember& member, const at::Device& device,
                                    std::chrono::milliseconds timeout);

}  // namespace vig::train
