#include "vig/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "vig/kernels/conv.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/norm.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/pool.h"

namespace vig {
namespace {

constexpr int64_t kPoolColumns = 64;  // channels one task averages
constexpr int64_t kColumnTasks = 4;   // of a product split over columns, per worker

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// Books the time since the last look to a step.
class Executor::Clock {
 public:
  explicit Clock(double* times) : times_(times), before_(times == nullptr ? 0.0 : seconds_now()) {}
  void look(int step) {
    if (times_ == nullptr) return;
    const double now = seconds_now();
    times_[step] += now - before_;
    before_ = now;
  }

 private:
  double* times_;
  double before_;
};

// ---- splitting: every element is computed the same way however this turns out ----

// Tiles are whole strips of the matrix product, as even as strips allow.
int64_t Executor::tile_count(int64_t rows) const {
  const int64_t strip = gemm_strip_rows();
  const int64_t strips = (rows + strip - 1) / strip;
  const int64_t most = kMaxTileRows / strip;  // strips of a tile
  const int64_t tiles = (strips + most - 1) / most;
  // The same number of tiles for every worker.
  const int64_t even = (tiles + threads_ - 1) / threads_ * threads_;
  return std::min(even, strips);
}

int64_t Executor::tile_start(int64_t rows, int64_t tile, int64_t tiles) const {
  const int64_t strip = gemm_strip_rows();
  const int64_t strips = (rows + strip - 1) / strip;
  return std::min(rows, strips * tile / tiles * strip);
}

bool Executor::splits_columns(const Region& region, int64_t rows) const {
  return region.last - region.first == 1 && few_rows(rows, threads_) &&
         std::holds_alternative<GemmStep>(plan_.program.steps[region.first].op);
}

int64_t Executor::column_tasks(int64_t panels) const {
  return std::min<int64_t>(panels, kColumnTasks * threads_);
}

int64_t Executor::tasks(const Region& region, int images) const {
  if (region.scan >= 0) return 2 * static_cast<int64_t>(images);
  const LowOp& op = plan_.program.steps[region.first].op;
  if (const auto* gla = std::get_if<GlaStep>(&op)) {
    return images * gla_directions(gla->op) * gla->op.heads * plan_.scans[region.first].blocks;
  }
  if (const auto* pool = std::get_if<PoolStep>(&op)) {
    const int64_t channels = plan_.program.values[pool->out].channels;
    return images * ((channels + kPoolColumns - 1) / kPoolColumns);
  }
  const int64_t rows = images * region.positions;
  if (splits_columns(region, rows)) {
    const int64_t panels = gemm_panels(weights_.matrix(std::get<GemmStep>(op).weight));
    return column_tasks(panels);
  }
  return tile_count(rows);
}

void Executor::run(const Region& region, int images, int64_t task, float* scratch,
                   double* times) const {
  Clock clock(times);
  const LowOp& first = plan_.program.steps[region.first].op;
  if (std::holds_alternative<GlaStep>(first)) {
    run_scan(region, task);
    return clock.look(region.first);
  }
  if (const auto* pool = std::get_if<PoolStep>(&first)) {
    run_pool(*pool, images, task);
    return clock.look(region.first);
  }
  const int64_t rows = images * region.positions;
  Tile tile;
  tile.positions = region.positions;
  tile.scratch = scratch;
  if (region.scan >= 0) return run_half(region, task, tile, clock);
  if (splits_columns(region, rows)) {
    const int64_t panels = gemm_panels(weights_.matrix(std::get<GemmStep>(first).weight));
    tile.last = rows;
    const int64_t tasks = column_tasks(panels);
    tile.panel_first = panels * task / tasks;
    tile.panel_last = panels * (task + 1) / tasks;
  } else {
    const int64_t tiles = tile_count(rows);
    tile.first = tile_start(rows, task, tiles);
    tile.last = tile_start(rows, task + 1, tiles);
  }
  run_steps(region, tile, clock);
}

void Executor::run_steps(const Region& region, const Tile& tile, Clock& clock) const {
  for (int i = region.first; i < region.last; ++i) {
    std::visit(Overloaded{
                   [&](const GemmStep& step) { run_step(step, tile); },
                   [&](const NormStep& step) { run_step(step, tile); },
                   [&](const PointwiseStep& step) { run_step(step, tile); },
                   [&](const MixStep& step) { run_step(step, tile); },
                   [&](const PatchStep& step) { run_step(step, tile); },
                   [&](const DepthwiseStep& step) { run_step(step, tile); },
                   [](const GlaStep&) {},
                   [](const PoolStep&) {},
               },
               plan_.program.steps[i].op);
    clock.look(i);
  }
}

// ---- operands ----

Rows Executor::rows_of(int value, const Tile& tile) const {
  const Place& place = plan_.places[value];
  if (place.scratch) return {tile.scratch + place.offset, place.stride};
  return {arena_ + place.offset + tile.first * place.stride, place.stride};
}

float* Executor::out_of(int value, const Tile& tile) const {
  return const_cast<float*>(rows_of(value, tile).data);
}

// ---- steps of a tile ----

void Executor::run_step(const GemmStep& step, const Tile& tile) const {
  const Rows in = rows_of(step.in, tile);
  GemmArgs args;
  args.a = in.data;
  args.lda = in.stride;
  args.rows = tile.last - tile.first;
  args.weight = weights_.matrix(step.weight);
  args.c = out_of(step.out, tile);
  args.ldc = plan_.places[step.out].stride;
  args.epilogue = step.epilogue;
  if (step.residual >= 0) {
    const Rows residual = rows_of(step.residual, tile);
    args.residual = residual.data;
    args.ldr = residual.stride;
  }
  args.first_panel = tile.panel_first;
  args.last_panel = tile.panel_last;
  gemm(args);
}

void Executor::run_step(const NormStep& step, const Tile& tile) const {
  const Rows in = rows_of(step.in, tile);
  NormArgs args;
  args.in = in.data;
  args.in_stride = in.stride;
  args.out = out_of(step.out, tile);
  args.out_stride = plan_.places[step.out].stride;
  args.rows = tile.last - tile.first;
  args.channels = plan_.program.values[step.out].channels;
  args.eps = step.eps;
  args.weight = weights_.raw(step.weight);
  args.groups = step.groups;
  if (step.bias >= 0) {
    args.bias = weights_.raw(step.bias);
    layer_norm(args);
  } else {
    rms_norm(args);
  }
}

void Executor::run_step(const PointwiseStep& step, const Tile& tile) const {
  PointwiseArgs args;
  args.kind = step.kind;
  args.a = rows_of(step.a, tile);
  args.out = out_of(step.out, tile);
  args.out_stride = plan_.places[step.out].stride;
  args.rows = tile.last - tile.first;
  args.channels = plan_.program.values[step.out].channels;
  if (step.halves) args.b = {args.a.data + args.channels, args.a.stride};
  if (step.b >= 0) args.b = rows_of(step.b, tile);
  if (step.b_param < 0) return pointwise(args);
  if (!step.position) {
    args.b = {weights_.raw(step.b_param), 0};
    return pointwise(args);
  }
  // A tile may reach over several pictures; the table begins anew with each.
  const Rows a = args.a;
  float* const out = args.out;
  for (int64_t row = tile.first; row < tile.last; row += args.rows) {
    const int64_t at = row % tile.positions;
    args.rows = std::min(tile.last - row, tile.positions - at);
    args.a.data = a.data + (row - tile.first) * a.stride;
    args.b = {positions_[step.b_param] + at * args.channels, args.channels};
    args.out = out + (row - tile.first) * args.out_stride;
    pointwise(args);
  }
}

void Executor::run_step(const MixStep& step, const Tile& tile) const {
  GatedMixArgs args;
  args.gate = rows_of(step.gate, tile);
  args.o = rows_of(step.o, tile);
  args.local = rows_of(step.local, tile);
  if (step.o_weight >= 0) args.o_weight = weights_.raw(step.o_weight);
  if (step.local_weight >= 0) args.local_weight = weights_.raw(step.local_weight);
  args.eps = step.eps;
  args.heads = step.heads;
  args.silu = step.silu;
  args.out = out_of(step.out, tile);
  args.out_stride = plan_.places[step.out].stride;
  args.rows = tile.last - tile.first;
  args.channels = plan_.program.values[step.out].channels;
  gated_mix(args);
}

void Executor::run_step(const PatchStep& step, const Tile& tile) const {
  const Grid& in = plan_.program.values[step.in];
  const Grid& out = plan_.program.values[step.out];
  PatchArgs args;
  args.in = arena_ + plan_.places[step.in].offset;
  args.grid = {in.height, in.width, in.channels};
  args.kernel = step.conv.kernel;
  args.stride = step.conv.stride;
  args.padding = step.conv.padding;
  args.out_height = out.height;
  args.out_width = out.width;
  args.first_row = tile.first;
  args.last_row = tile.last;
  args.out = out_of(step.out, tile);
  args.out_stride = plan_.places[step.out].stride;
  gather_patches(args);
}

void Executor::run_step(const DepthwiseStep& step, const Tile& tile) const {
  const Grid& in = plan_.program.values[step.in];
  DepthwiseConvArgs args;
  args.in = arena_ + plan_.places[step.in].offset;
  args.grid = {in.height, in.width, in.channels};
  args.kernel = step.kernel;
  args.taps = weights_.taps(step.weight);
  args.silu = step.silu;
  args.first_row = tile.first;
  args.last_row = tile.last;
  args.out = out_of(step.out, tile);
  args.out_stride = plan_.places[step.out].stride;
  depthwise_conv(args);
}

// ---- global steps ----

void Executor::run_half(const Region& region, int64_t task, Tile tile, Clock& clock) const {
  const auto& op = std::get<GlaStep>(plan_.program.steps[region.scan].op).op;
  const int64_t split = plan_.scans[region.scan].split;
  const bool back = task % 2 == 1;
  const bool second = region.pass == 1;
  ScanPart part;
  part.image = task / 2;
  part.backward = back != second;
  const int64_t begin = part.image * region.positions;
  const ScanTiles tiles =
      back ? ScanTiles{begin + split, begin + region.positions} : ScanTiles{begin, begin + split};
  const int64_t count = tiles.count();
  for (int64_t n = 0; n < count; ++n) {
    const int64_t t = part.backward ? count - 1 - n : n;
    tile.first = tiles.start(t);
    tile.last = tiles.start(t + 1);
    if (!second) run_steps(region, tile, clock);
    part.first = tile.first - begin;
    part.last = tile.last - begin;
    part.resume = second || n > 0;
    part.add = second;
    for (part.head = 0; part.head < op.heads; ++part.head) scan_rows(region.scan, part);
    clock.look(region.scan);
    if (second) run_steps(region, tile, clock);
  }
}

// Tasks are counted by picture, half, head and block, so that a worker's share is a run of rows.
void Executor::run_scan(const Region& region, int64_t task) const {
  const auto& op = std::get<GlaStep>(plan_.program.steps[region.first].op).op;
  const ScanPlan& scan = plan_.scans[region.first];
  const int64_t directions = gla_directions(op);
  ScanPart part;
  part.block = task % scan.blocks;
  part.head = task / scan.blocks % op.heads;
  part.image = task / scan.blocks / op.heads / directions;
  if (directions == 1) {
    part.last = region.positions;
    part.backward = op.direction == GlaDirection::kBackward;
    return scan_rows(region.first, part);
  }
  const bool back = task / scan.blocks / op.heads % directions == 1;
  const bool second = region.pass == 1;
  part.backward = back != second;
  part.add = second;
  const ScanTiles tiles = back ? ScanTiles{scan.split, region.positions} : ScanTiles{0, scan.split};
  const int64_t count = tiles.count();
  part.resume = second;
  if (count == 0) return scan_rows(region.first, part);  // leaves a state for the other half
  for (int64_t n = 0; n < count; ++n) {
    const int64_t t = part.backward ? count - 1 - n : n;
    part.first = tiles.start(t);
    part.last = tiles.start(t + 1);
    part.resume = second || n > 0;
    scan_rows(region.first, part);
  }
}

void Executor::scan_rows(int step_index, const ScanPart& part) const {
  const auto& step = std::get<GlaStep>(plan_.program.steps[step_index].op);
  const GlaOp& op = step.op;
  const ScanPlan& scan = plan_.scans[step_index];
  const int64_t directions = gla_directions(op);
  const int64_t width = op.value_dim / scan.blocks;
  const int64_t keys = static_cast<int64_t>(op.heads) * op.key_dim;
  const Place& qkv = plan_.places[step.qkv];
  const Place& alpha = plan_.places[step.alpha];
  const Place& out = plan_.places[step.out];
  const int64_t row = part.image * plan_.program.values[step.out].positions() + part.first;
  const int64_t column = part.head * op.value_dim + part.block * width;

  GlaArgs args;
  args.tokens = part.last - part.first;
  args.key_dim = op.key_dim;
  args.value_dim = width;
  args.q = arena_ + qkv.offset + row * qkv.stride + part.head * op.key_dim;
  args.k = args.q + keys;
  args.v = arena_ + qkv.offset + row * qkv.stride + 2 * keys + column;
  args.qkv_stride = qkv.stride;
  const float* gates = arena_ + alpha.offset + row * alpha.stride + part.head * op.key_dim;
  if (part.backward) {
    args.alpha_backward = gates + (op.direction == GlaDirection::kBoth ? keys : 0);
  } else {
    args.alpha_forward = gates;
  }
  args.alpha_stride = alpha.stride;
  args.resume = part.resume;
  args.add = part.add;
  if (directions == 1 || part.add) {
    args.scale = 1.0f / std::sqrt(static_cast<float>(op.key_dim)) / static_cast<float>(directions);
  }
  args.o = arena_ + out.offset + row * out.stride + column;
  args.o_stride = out.stride;
  const int64_t unit = (part.image * op.heads + part.head) * scan.blocks + part.block;
  const int64_t state = unit * directions + (directions == 2 && part.backward ? 1 : 0);
  args.state = arena_ + scan.offset + state * scan.state_floats;
  gla(args);
}

void Executor::run_pool(const PoolStep& step, int images, int64_t task) const {
  const Grid& grid = plan_.program.values[step.in];
  const int64_t image = task % images;
  const int64_t column = task / images * kPoolColumns;
  const Place& in = plan_.places[step.in];
  const Place& out = plan_.places[step.out];
  const float* rows = arena_ + in.offset + image * grid.positions() * in.stride + column;
  float* mean = arena_ + out.offset + image * out.stride + column;
  mean_rows(rows, in.stride, grid.positions(),
            std::min(kPoolColumns, static_cast<int64_t>(grid.channels) - column), mean);
}

}  // namespace vig
