#include "vig/runtime/plan.h"

#include <algorithm>
#include <numeric>

#include "vig/kernels/gla.h"

namespace vig {
namespace {

constexpr int64_t kAlign = 16;  // floats: one cache line

int64_t aligned(int64_t floats) { return (floats + kAlign - 1) / kAlign * kAlign; }

// Rows a multiple of 2 KB apart would fall into the same few sets of the cache.
int64_t scratch_stride(int64_t channels) {
  const int64_t stride = aligned(channels);
  return stride % 512 == 0 ? stride + kAlign : stride;
}

std::vector<Region> make_regions(const Program& program, int batch, int threads) {
  std::vector<Region> regions;
  std::vector<int> born(program.values.size(), -1);  // region of each value
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const LowOp& op = program.steps[i].op;
    const int64_t positions = program.values[result_of(op)].positions();
    bool joins = !regions.empty() && !is_global(op) && !regions.back().global &&
                 regions.back().positions == positions;
    // A product that is split over columns stands alone.
    if (joins && few_rows(batch * positions, threads)) {
      joins = !std::holds_alternative<GemmStep>(op) &&
              !std::holds_alternative<GemmStep>(program.steps[i - 1].op);
    }
    for (int value : gathered_by(op)) {
      joins = joins && born[value] != static_cast<int>(regions.size()) - 1;
    }
    const int step = static_cast<int>(i);
    if (!joins) regions.push_back({is_global(op), step, step, positions});
    regions.back().last = step + 1;
    const auto* gla = std::get_if<GlaStep>(&op);
    if (gla != nullptr && gla_directions(gla->op) == 2) {
      regions.push_back({true, step, step + 1, positions, -1, 1});
    }
    born[result_of(op)] = static_cast<int>(regions.size()) - 1;
  }
  return regions;
}

// Whether workers share out evenly over halves of pictures.
bool halves_fill_workers(int batch, int threads) {
  const int64_t halves = 2 * static_cast<int64_t>(batch);
  return halves % threads == 0 || halves >= 8 * static_cast<int64_t>(threads);
}

// Joins both passes of a scan with the tile regions around it, where the rows are the same.
void join_scans(const Program& program, int batch, int threads, std::vector<Region>& regions) {
  if (!halves_fill_workers(batch, threads)) return;
  for (size_t r = 1; r + 2 < regions.size(); ++r) {
    if (!regions[r].global || regions[r + 1].pass != 1 || !regions[r + 1].global) continue;
    Region &before = regions[r - 1], &after = regions[r + 2];
    const int step = regions[r].first;
    const int64_t positions = regions[r].positions;
    if (before.global || after.global || before.scan >= 0 || before.positions != positions ||
        after.positions != positions || few_rows(positions, 2)) {
      continue;
    }
    bool gathers = false;
    for (int i = after.first; i < after.last; ++i) {
      for (int value : gathered_by(program.steps[i].op)) {
        gathers = gathers || value == result_of(program.steps[step].op);
      }
    }
    if (gathers) continue;
    before.scan = after.scan = step;
    after.pass = 1;
    regions.erase(regions.begin() + static_cast<ptrdiff_t>(r),
                  regions.begin() + static_cast<ptrdiff_t>(r) + 2);
  }
}

ScanPlan make_scan(const GlaOp& op, int64_t tokens, int batch, int threads) {
  constexpr int64_t kNarrowest = 16;  // columns of a block
  ScanPlan scan;
  const int64_t strip = gemm_strip_rows();
  scan.split = (tokens / 2 + strip / 2) / strip * strip;
  const int64_t heads = static_cast<int64_t>(batch) * op.heads * gla_directions(op);
  while (heads * scan.blocks % threads != 0 && heads * scan.blocks < 8 * threads &&
         op.value_dim % (2 * scan.blocks) == 0 && op.value_dim / (2 * scan.blocks) >= kNarrowest) {
    scan.blocks *= 2;
  }
  scan.state_floats =
      aligned(static_cast<int64_t>(gla_state_floats(op.key_dim, op.value_dim / scan.blocks)));
  return scan;
}

// When a value is made and last read, in steps and in regions.
struct Life {
  int step = -1, last_step = -1;
  int region = -1, last_region = -1;
  bool crosses = false;  // read in another region than its own, or after the run
};

std::vector<Life> lives_of(const Plan& plan) {
  std::vector<Life> lives(plan.program.values.size());
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const int region = static_cast<int>(r);
    const auto read = [&](int i) {
      for (int value : operands_of(plan.program.steps[i].op)) {
        Life& life = lives[value];
        life.last_step = i;
        life.last_region = region;
        life.crosses = life.crosses || life.region != region;
      }
    };
    for (int i = plan.regions[r].first; i < plan.regions[r].last; ++i) {
      read(i);
      if (plan.regions[r].global && plan.regions[r].pass > 0) continue;  // made by the first
      // A region of one step need not go by tiles, so its result is never a worker's alone, even
      // when nobody reads it.
      const bool alone = plan.regions[r].last - plan.regions[r].first == 1;
      lives[result_of(plan.program.steps[i].op)] = {i, i, region, region, alone};
    }
    const int scan = plan.regions[r].scan;
    if (scan < 0) continue;
    read(scan);
    if (plan.regions[r].pass == 0) {
      lives[result_of(plan.program.steps[scan].op)] = {scan, scan, region, region, true};
    }
  }
  const int end = static_cast<int>(plan.regions.size());
  for (size_t v = 0; v < lives.size(); ++v) {
    if (plan.program.wanted[v] && lives[v].region >= 0) {
      lives[v].crosses = true;
      lives[v].last_region = end;
    }
  }
  // The picture is there from the beginning and stays.
  lives[0] = {-1, -1, -1, end, true};
  return lives;
}

}  // namespace

int64_t place_lifetimes(std::vector<Lifetime>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].floats > blocks[b].floats; });
  int64_t total = 0;
  std::vector<size_t> placed;  // by offset
  for (size_t index : order) {
    Lifetime& block = blocks[index];
    block.offset = 0;
    for (size_t other_index : placed) {
      const Lifetime& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (block.offset + block.floats <= other.offset) break;
      block.offset = std::max(block.offset, aligned(other.offset + other.floats));
    }
    total = std::max(total, block.offset + block.floats);
    const auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](size_t a, size_t b) {
      return blocks[a].offset < blocks[b].offset;
    });
    placed.insert(at, index);
  }
  return aligned(total);
}

// Two strips of 14 rows, or of 6, are a multiple of any chunk.
int64_t ScanTiles::count() const {
  const int64_t pair = 2 * gemm_strip_rows();
  const int64_t pairs = (last - first + pair - 1) / pair;
  const int64_t most = kMaxTileRows / pair;
  return (pairs + most - 1) / most;
}

int64_t ScanTiles::start(int64_t tile) const {
  const int64_t pair = 2 * gemm_strip_rows();
  const int64_t pairs = (last - first + pair - 1) / pair;
  return std::min(last, first + pairs * tile / std::max<int64_t>(1, count()) * pair);
}

bool few_rows(int64_t rows, int threads) {
  constexpr int64_t kStrips = 3;  // a worker should use each weight for so many strips at least
  return threads > 1 && rows < kStrips * gemm_strip_rows() * threads;
}

Plan make_plan(Program program, int batch, int threads) {
  Plan plan;
  plan.program = std::move(program);
  plan.regions = make_regions(plan.program, batch, threads);
  join_scans(plan.program, batch, threads, plan.regions);
  const std::vector<Life> lives = lives_of(plan);
  plan.places.assign(plan.program.values.size(), Place{false, -1, 0});

  std::vector<Lifetime> arena;
  std::vector<int> arena_values;
  for (size_t v = 0; v < lives.size(); ++v) {
    if (!lives[v].crosses) continue;
    const Grid& grid = plan.program.values[v];
    arena.push_back({lives[v].region, lives[v].last_region, batch * grid.elements()});
    arena_values.push_back(static_cast<int>(v));
    plan.places[v].stride = grid.channels;
  }
  plan.scans.resize(plan.program.steps.size());
  std::vector<int> scan_steps;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    const int step = region.global ? region.first : region.scan;
    const auto* gla = step < 0 ? nullptr : std::get_if<GlaStep>(&plan.program.steps[step].op);
    if (gla == nullptr || region.pass > 0) continue;
    ScanPlan& scan = plan.scans[step];
    scan = make_scan(gla->op, region.positions, batch, threads);
    if (!region.global) scan.blocks = 1;
    scan.state_floats = aligned(
        static_cast<int64_t>(gla_state_floats(gla->op.key_dim, gla->op.value_dim / scan.blocks)));
    const int passes = gla_directions(gla->op);
    arena.push_back({static_cast<int>(r), static_cast<int>(r) + passes - 1,
                     batch * gla->op.heads * scan.blocks * passes * scan.state_floats});
    scan_steps.push_back(step);
  }
  plan.arena_floats = place_lifetimes(arena);
  for (size_t i = 0; i < arena.size(); ++i) {
    const bool value = i < arena_values.size();
    int64_t& offset = value ? plan.places[arena_values[i]].offset
                            : plan.scans[scan_steps[i - arena_values.size()]].offset;
    offset = arena[i].offset;
  }

  for (const Region& region : plan.regions) {
    std::vector<Lifetime> scratch;
    std::vector<int> scratch_values;
    for (int i = region.first; i < region.last; ++i) {
      const int v = result_of(plan.program.steps[i].op);
      if (lives[v].crosses) continue;
      const int64_t stride = scratch_stride(plan.program.values[v].channels);
      scratch.push_back({lives[v].step, lives[v].last_step, stride * kMaxTileRows});
      scratch_values.push_back(v);
      plan.places[v] = {true, 0, stride};
    }
    plan.scratch_floats = std::max(plan.scratch_floats, place_lifetimes(scratch));
    for (size_t i = 0; i < scratch.size(); ++i) {
      plan.places[scratch_values[i]].offset = scratch[i].offset;
    }
  }
  plan.scratch_floats = aligned(plan.scratch_floats);
  return plan;
}

}  // namespace vig
