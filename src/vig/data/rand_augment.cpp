#include "vig/data/rand_augment.h"

#include <algorithm>

#include "vig/data/color_ops.h"

namespace vig {

RandOpCall draw_rand_op(const RandAugmentOptions& options, RandomStream& stream) {
  RandOpCall call;
  call.op = static_cast<RandOp>(stream.below(kRandOps));
  call.magnitude = std::clamp(options.magnitude + options.deviation * stream.normal(), 0.0f, 10.0f);
  call.negative = stream.chance(0.5);
  call.interpolation = stream.chance(0.5) ? Interpolation::kBilinear : Interpolation::kBicubic;
  return call;
}

void apply_rand_op(const RandOpCall& call, Color fill, Image& image) {
  const float share = call.magnitude / 10.0f;
  const float signed_share = call.negative ? -share : share;
  const float factor = std::max(0.1f, 1.0f + 0.9f * signed_share);
  const auto move = [&](const Affine& affine) {
    image = transform(image, affine, call.interpolation, fill);
  };
  switch (call.op) {
    case RandOp::kAutoContrast:
      return auto_contrast(image);
    case RandOp::kEqualize:
      return equalize(image);
    case RandOp::kInvert:
      return invert(image);
    case RandOp::kRotate:
      return move(Affine::rotation(30.0 * signed_share, image.width, image.height));
    case RandOp::kPosterize:
      return posterize(image, 4 - static_cast<int>(4.0f * share));
    case RandOp::kSolarize:
      return solarize(image, 256 - static_cast<int>(256.0f * share));
    case RandOp::kSolarizeAdd:
      return solarize_add(image, static_cast<int>(110.0f * share));
    case RandOp::kColor:
      return adjust_color(image, factor);
    case RandOp::kContrast:
      return adjust_contrast(image, factor);
    case RandOp::kBrightness:
      return adjust_brightness(image, factor);
    case RandOp::kSharpness:
      return adjust_sharpness(image, factor);
    case RandOp::kShearX:
      return move({.xy = 0.3 * signed_share});
    case RandOp::kShearY:
      return move({.yx = 0.3 * signed_share});
    case RandOp::kTranslateX:
      return move({.x0 = 0.45 * signed_share * image.width});
    case RandOp::kTranslateY:
      return move({.y0 = 0.45 * signed_share * image.height});
  }
}

void rand_augment(const RandAugmentOptions& options, RandomStream stream, Image& image) {
  for (int i = 0; i < options.ops; ++i) {
    const RandOpCall call = draw_rand_op(options, stream);
    if (stream.chance(options.probability)) apply_rand_op(call, options.fill, image);
  }
}

}  // namespace vig
