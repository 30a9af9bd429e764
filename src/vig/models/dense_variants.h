// Variants of a plain backbone under the adapter, with a head of segmentation or detection: what
// the ViG paper compares.
#pragma once

#include <map>
#include <string>

#include "vig/models/adapter.h"
#include "vig/models/mask_rcnn.h"
#include "vig/models/upernet.h"

namespace vig {

template <class Plain>
using AdapterSegmenter = UperNetConfig<Adapter<Plain>>;
template <class Plain>
using AdapterDetector = MaskRcnnConfig<Adapter<Plain>>;

// The published sizes: widths of deformable attention and drop rates follow from the size.
enum class DenseSize { kTiny, kSmall, kBase };

template <class Config, class Plain>
Config adapter_variant(const Plain& plain, DenseSize size) {
  Config config;
  static_cast<Plain&>(config.backbone) = plain;
  config.backbone.deform_heads = size == DenseSize::kBase ? 12 : 6;
  config.backbone.deform_ratio = size == DenseSize::kBase ? 0.5f : 1.0f;
  config.drop_path = size == DenseSize::kTiny ? 0.1f : size == DenseSize::kSmall ? 0.2f : 0.3f;
  return config;
}

// Of a small backbone of four blocks, for tests.
template <class Config, class Plain>
Config adapter_miniature(const Plain& plain) {
  Config config;
  static_cast<Plain&>(config.backbone) = plain;
  config.image_size = 64;
  config.backbone.interactions = {0, 0, 1, 1, 2, 2, 3, 3};
  config.backbone.conv_inplane = 8;
  config.backbone.deform_heads = 4;
  return config;
}
template <class Plain>
AdapterSegmenter<Plain> miniature_segmenter(const Plain& plain) {
  auto config = adapter_miniature<AdapterSegmenter<Plain>>(plain);
  config.classes = 5;
  config.backbone.deform_ratio = 0.5f;
  config.head.head_channels = 12;
  config.head.auxiliary_channels = 8;
  return config;
}
template <class Plain>
AdapterDetector<Plain> miniature_detector(const Plain& plain) {
  auto config = adapter_miniature<AdapterDetector<Plain>>(plain);
  config.classes = 3;
  config.head.fpn_channels = 16;
  config.head.fc_channels = 24;
  config.head.mask_channels = 16;
  return config;
}

// Arguments of the public code, in golden cases: the fields of the same meaning.
std::map<std::string, std::string> adapter_arguments(std::map<std::string, std::string> more = {});
std::map<std::string, std::string> segmenter_arguments(
    std::map<std::string, std::string> more = {});
std::map<std::string, std::string> detector_arguments(std::map<std::string, std::string> more = {});

}  // namespace vig
