#include "vig/kernels/reference/deformable.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vig::reference {
namespace {

// A pixel around a sample, what it counts, and the derivatives of that.
struct Pixel {
  int64_t row;
  double coefficient, slope_x, slope_y;
};

// One sample of a query.
struct Sample {
  size_t number;  // of head, level and point
  double weight;
  std::vector<Pixel> pixels;  // inside of the map alone
};

std::vector<Pixel> pixels_around(double x, double y, const DeformableGrid& map, int64_t first) {
  std::vector<Pixel> pixels;
  if (!(std::fabs(x) < 1e9 && std::fabs(y) < 1e9)) return pixels;
  const double left = std::floor(x), top = std::floor(y);
  for (const int64_t down : {0, 1}) {
    for (const int64_t right : {0, 1}) {
      const int64_t row = static_cast<int64_t>(top) + down;
      const int64_t column = static_cast<int64_t>(left) + right;
      if (row < 0 || row >= map.height || column < 0 || column >= map.width) continue;
      const double along_x = right == 1 ? x - left : 1.0 - (x - left);
      const double along_y = down == 1 ? y - top : 1.0 - (y - top);
      pixels.push_back({first + row * map.width + column, along_x * along_y,
                        (right == 1 ? 1.0 : -1.0) * along_y, (down == 1 ? 1.0 : -1.0) * along_x});
    }
  }
  return pixels;
}

std::vector<Sample> samples_of(const DeformableArgs& args, int64_t query, int64_t head) {
  const DeformableGrid* grid = args.queries;
  int64_t position = query;
  for (; position >= grid->height * grid->width; ++grid) position -= grid->height * grid->width;
  const double row = static_cast<double>(position / grid->width) + 0.5;
  const double column = static_cast<double>(position % grid->width) + 0.5;
  std::vector<Sample> samples;
  double largest = -INFINITY, sum = 0.0;
  int64_t first = 0;
  for (int64_t level = 0; level < args.level_count; ++level) {
    const DeformableGrid& map = args.levels[level];
    for (int64_t point = 0; point < args.points; ++point) {
      const int64_t number = (head * args.level_count + level) * args.points + point;
      const float* offset = args.offsets + query * args.offsets_stride + 2 * number;
      const double x = column * static_cast<double>(map.width) / static_cast<double>(grid->width) -
                       0.5 + offset[0];
      const double y = row * static_cast<double>(map.height) / static_cast<double>(grid->height) -
                       0.5 + offset[1];
      const double logit = args.logits[query * args.logits_stride + number];
      largest = std::max(largest, logit);
      samples.push_back({static_cast<size_t>(number), logit, pixels_around(x, y, map, first)});
    }
    first += map.height * map.width;
  }
  for (Sample& sample : samples) sum += sample.weight = std::exp(sample.weight - largest);
  for (Sample& sample : samples) sample.weight /= sum;
  return samples;
}

}  // namespace

void deformable(const DeformableArgs& args) {
  for (int64_t query = args.first_query; query < args.last_query; ++query) {
    for (int64_t head = 0; head < args.heads; ++head) {
      const std::vector<Sample> samples = samples_of(args, query, head);
      for (int64_t c = head * args.head_dim; c < (head + 1) * args.head_dim; ++c) {
        double sum = 0.0;
        for (const Sample& sample : samples) {
          for (const Pixel& pixel : sample.pixels) {
            sum +=
                sample.weight * pixel.coefficient * args.values[pixel.row * args.values_stride + c];
          }
        }
        args.out[query * args.out_stride + c] = static_cast<float>(sum);
      }
    }
  }
}

void deformable_backward(const DeformableBackwardArgs& args) {
  const DeformableArgs& forward = args.forward;
  const int64_t last_head = args.last_head < 0 ? forward.heads : args.last_head;
  int64_t rows = 0;
  for (int64_t level = 0; level < forward.level_count; ++level) {
    rows += forward.levels[level].height * forward.levels[level].width;
  }
  const int64_t width = forward.heads * forward.head_dim;
  std::vector<double> dvalues(static_cast<size_t>(rows * width), 0.0);
  for (int64_t query = forward.first_query; query < forward.last_query; ++query) {
    for (int64_t head = args.first_head; head < last_head; ++head) {
      const std::vector<Sample> samples = samples_of(forward, query, head);
      std::vector<double> dweights;
      double mean = 0.0;
      for (const Sample& sample : samples) {
        double dweight = 0.0, dx = 0.0, dy = 0.0;
        for (const Pixel& pixel : sample.pixels) {
          double product = 0.0;
          for (int64_t c = head * forward.head_dim; c < (head + 1) * forward.head_dim; ++c) {
            const double grad = args.grad_out[query * args.grad_out_stride + c];
            product += grad * forward.values[pixel.row * forward.values_stride + c];
            dvalues[static_cast<size_t>(pixel.row * width + c)] +=
                sample.weight * pixel.coefficient * grad;
          }
          dweight += pixel.coefficient * product;
          dx += pixel.slope_x * product;
          dy += pixel.slope_y * product;
        }
        float* doffset = args.doffsets + query * args.doffsets_stride + 2 * sample.number;
        doffset[0] = static_cast<float>(sample.weight * dx);
        doffset[1] = static_cast<float>(sample.weight * dy);
        dweights.push_back(dweight);
        mean += sample.weight * dweight;
      }
      for (size_t i = 0; i < samples.size(); ++i) {
        args.dlogits[query * args.dlogits_stride + static_cast<int64_t>(samples[i].number)] =
            static_cast<float>(samples[i].weight * (dweights[i] - mean));
      }
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = args.first_head * forward.head_dim; c < last_head * forward.head_dim; ++c) {
      args.dvalues[row * args.dvalues_stride + c] +=
          static_cast<float>(dvalues[static_cast<size_t>(row * width + c)]);
    }
  }
}

}  // namespace vig::reference
