// The sampling of deformable attention as ViT-Adapter uses it: tokens at stride 16 that sample
// three maps (inject), and the three maps that sample the tokens (extract). One thread. %peak
// counts 10 operations per sampled value: four neighbours and a weight.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/rounds.h"
#include "vig/kernels/backward/deformable.h"
#include "vig/kernels/reference/deformable.h"

namespace vig::bench {
namespace {

std::vector<float> noise(int64_t count, float size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) x = size * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  return values;
}

void sample(benchmark::State& state, bool inject) {
  const int64_t side = state.range(0), heads = state.range(1), head_dim = state.range(2);
  const std::vector<DeformableGrid> one = {{side, side}};
  const std::vector<DeformableGrid> three = {
      {2 * side, 2 * side}, {side, side}, {side / 2, side / 2}};
  const auto& levels = inject ? three : one;
  const auto& queries = inject ? one : three;
  const int64_t tokens = side * side, all = 4 * tokens + tokens + tokens / 4, points = 4;
  const int64_t positions = inject ? all : tokens, count = inject ? tokens : all;
  const int64_t width = heads * head_dim;
  const int64_t samples = heads * static_cast<int64_t>(levels.size()) * points;
  // Offsets as a trained network has them: a few pixels away.
  const std::vector<float> values = noise(positions * width, 1.0f, 1),
                           offsets = noise(count * samples * 2, 4.0f, 2),
                           logits = noise(count * samples, 2.0f, 3),
                           grad = noise(count * width, 1.0f, 4);
  std::vector<float> out(static_cast<size_t>(count * width)), want(out.size());
  std::vector<float> dvalues(values.size()), doffsets(offsets.size()), dlogits(logits.size());
  DeformableArgs args;
  args.levels = levels.data();
  args.level_count = static_cast<int64_t>(levels.size());
  args.queries = queries.data();
  args.query_grids = static_cast<int64_t>(queries.size());
  args.heads = heads;
  args.points = points;
  args.head_dim = head_dim;
  args.values = values.data();
  args.values_stride = args.out_stride = width;
  args.offsets = offsets.data();
  args.offsets_stride = 2 * samples;
  args.logits = logits.data();
  args.logits_stride = samples;
  args.out = out.data();
  args.last_query = count;
  DeformableArgs slow = args;
  slow.out = want.data();
  reference::deformable(slow);
  deformable(args);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!(std::fabs(out[i] - want[i]) <= 1e-5)) return state.SkipWithError("sampling is wrong");
  }
  DeformableBackwardArgs back;
  back.forward = args;
  back.grad_out = grad.data();
  back.grad_out_stride = back.dvalues_stride = width;
  back.dvalues = dvalues.data();
  back.doffsets = doffsets.data();
  back.doffsets_stride = 2 * samples;
  back.dlogits = dlogits.data();
  back.dlogits_stride = samples;
  time_rounds(
      state,
      {{"forward", [&] { deformable(args); }}, {"backward", [&] { deformable_backward(back); }}},
      10.0 * static_cast<double>(count * samples * head_dim));
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"side", "H", "D"});
  bench->Args({32, 6, 32})->Args({32, 6, 64})->Args({32, 12, 32})->Args({64, 6, 32});
  bench->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMicrosecond);
}

void inject(benchmark::State& state) { sample(state, true); }
void extract(benchmark::State& state) { sample(state, false); }

BENCHMARK(inject)->Apply(shapes);
BENCHMARK(extract)->Apply(shapes);

}  // namespace
}  // namespace vig::bench
