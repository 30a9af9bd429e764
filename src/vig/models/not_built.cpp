#include "vig/models/not_built.h"

#include <algorithm>
#include <vector>

namespace vig {
namespace {

struct Signature {
  std::string_view network;
  std::vector<std::string_view> present;
  std::vector<std::string_view> absent = {};
  int64_t channels = 0;  // first axis of the first tensor; 0: any

  bool fits(const TensorShapes& shapes) const {
    const auto has = [&](std::string_view name) { return shapes(std::string(name)) != nullptr; };
    if (!std::ranges::all_of(present, has) || std::ranges::any_of(absent, has)) return false;
    if (channels == 0) return true;
    const Shape* first = shapes(std::string(present.front()));
    return first->rank() > 0 && (*first)[0] == channels;
  }
};

// The first that fits is meant.
const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = {
      // torchvision, classification
      {"torchvision's swin_v2_t",
       {"features.1.0.attn.logit_scale"},
       {"features.5.6.attn.logit_scale"}},
      {"torchvision's swin_v2_s", {"features.0.0.weight", "features.1.0.attn.logit_scale"}, {}, 96},
      {"torchvision's swin_v2_b", {"features.1.0.attn.logit_scale"}},
      {"torchvision's efficientnet_v2_s",
       {"features.1.0.block.0.0.weight", "features.2.0.block.1.0.weight"},
       {"features.1.0.block.1.fc1.weight", "features.8.0.weight"}},
      {"torchvision's efficientnet_v2_m",
       {"features.1.0.block.0.0.weight", "features.2.0.block.1.0.weight"},
       {"features.1.0.block.1.fc1.weight", "features.1.3.block.0.0.weight"}},
      {"torchvision's efficientnet_v2_l",
       {"features.1.3.block.0.0.weight"},
       {"features.1.3.block.1.fc1.weight"}},
      {"torchvision's regnet_x",
       {"trunk_output.block1.block1-0.f.a.0.weight"},
       {"trunk_output.block1.block1-0.f.se.fc1.weight"}},
      {"torchvision's mobilenet_v2", {"features.1.conv.0.0.weight"}},
      {"torchvision's mobilenet_v3_small",
       {"features.1.block.1.fc1.weight", "classifier.3.weight"}},
      {"torchvision's mobilenet_v3_large",
       {"features.1.block.0.0.weight", "classifier.3.weight"},
       {"classifier.6.weight"}},
      {"torchvision's mnasnet", {"layers.8.0.layers.0.weight"}},
      {"torchvision's shufflenet_v2", {"stage2.0.branch1.0.weight"}},
      {"torchvision's squeezenet", {"features.3.squeeze.weight"}},
      {"torchvision's densenet", {"features.denseblock1.denselayer1.conv1.weight"}},
      {"torchvision's googlenet", {"inception3a.branch1.conv.weight"}},
      {"torchvision's inception_v3", {"Mixed_5b.branch1x1.conv.weight"}},
      {"torchvision's maxvit_t", {"blocks.0.layers.0.layers.MBconv.layers.conv_a.0.weight"}},
      {"torchvision's alexnet",
       {"features.10.weight", "classifier.1.weight", "classifier.4.weight"}},
      {"torchvision's vgg", {"features.0.weight", "classifier.0.weight", "classifier.6.weight"}},
      // torchvision, segmentation and detection
      {"torchvision's deeplabv3", {"classifier.0.convs.0.0.weight"}},
      {"torchvision's lraspp", {"classifier.cbr.0.weight"}},
      {"torchvision's fcn", {"backbone.layer4.0.conv1.weight", "classifier.4.weight"}},
      {"torchvision's keypointrcnn", {"roi_heads.keypoint_predictor.kps_score_lowres.weight"}},
      {"torchvision's maskrcnn", {"roi_heads.mask_predictor.mask_fcn_logits.weight"}},
      {"torchvision's fasterrcnn", {"roi_heads.box_predictor.cls_score.weight"}},
      {"torchvision's fcos", {"head.regression_head.bbox_ctrness.weight"}},
      {"torchvision's retinanet", {"head.classification_head.cls_logits.weight"}},
      {"torchvision's ssd", {"head.classification_head.module_list.0.weight"}},
      {"torchvision's ssdlite", {"head.classification_head.module_list.0.1.weight"}},
      // timm
      {"timm's swinv2", {"layers.0.blocks.0.attn.logit_scale"}},
      {"timm's convnextv2", {"stages.0.blocks.0.mlp.grn.weight"}},
      {"timm's convnext_tiny_hnf", {"stages.0.blocks.0.conv_dw.weight", "norm_pre.weight"}},
      {"timm's convnext with a hidden layer in its head", {"head.pre_logits.fc.weight"}},
      {"timm's convnext with overlapping patches",
       {"stages.0.blocks.0.conv_dw.weight", "stem.2.weight"}},
      {"timm's deit_distilled", {"blocks.0.attn.qkv.weight", "head_dist.weight"}},
      {"timm's deit3 or dinov2", {"blocks.0.attn.qkv.weight", "blocks.0.ls1.gamma"}},
      {"timm's beit or cait", {"blocks.0.gamma_1"}},
      {"timm's vit of CLIP", {"blocks.0.attn.qkv.weight", "norm_pre.weight"}},
      {"timm's vit with mean pooling", {"blocks.0.attn.qkv.weight", "fc_norm.weight"}},
      {"timm's vit with register tokens", {"blocks.0.attn.qkv.weight", "reg_token"}},
      {"timm's vit without a classifier",
       {"cls_token", "pos_embed", "blocks.0.attn.qkv.weight"},
       {"head.weight"}},
      {"timm's resnet with squeeze-excite", {"layer1.0.se.fc1.weight"}},
      {"timm's resnet with a deep stem", {"conv1.0.weight", "layer1.0.conv1.weight"}},
      {"timm's resnet_gn", {"bn1.weight", "layer1.0.conv1.weight"}, {"bn1.running_mean"}},
      {"timm's resnetv2", {"stem.conv.weight", "stages.0.blocks.0.norm1.weight"}},
      {"timm's regnetx", {"s1.b1.conv1.conv.weight"}, {"s1.b1.se.fc1.weight"}},
      {"timm's efficientnetv2", {"conv_stem.weight", "blocks.1.0.conv_exp.weight"}},
      {"timm's mobilenetv3", {"conv_stem.weight", "conv_head.bias"}},
  };
  return all;
}

}  // namespace

std::string known_but_not_built(const TensorShapes& shapes) {
  for (const Signature& signature : signatures()) {
    if (signature.fits(shapes)) return std::string(signature.network);
  }
  return "";
}

}  // namespace vig
