#include "vig/runtime/plan.h"

#include <algorithm>
#include <numeric>

#include "vig/kernels/gemm.h"
#include "vig/runtime/regions.h"

namespace vig {
namespace {

constexpr int64_t kAlign = 64;  // one cache line

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// When a value is made and last read, in calls and in regions.
struct Life {
  int call = -1, last_call = -1;
  int region = -1, last_region = -1;
  bool crosses = false;  // read in another region than its own, or after the run
};

std::vector<Life> lives_of(const Plan& plan) {
  std::vector<Life> lives(plan.program.values.size());
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    const int number = static_cast<int>(r);
    const auto read = [&](int i) {
      for (int value : plan.call(i).operands()) {
        Life& life = lives[value];
        life.last_call = i;
        life.last_region = number;
        life.crosses = life.crosses || life.region != number;
      }
    };
    for (int i = region.first; i < region.last; ++i) {
      read(i);
      if (region.image && region.pass > 0) continue;  // made by the first pass
      // A region of one call need not go by tiles, so its result is never a worker's alone, even
      // when nobody reads it.
      const bool alone = region.last - region.first == 1;
      lives[plan.call(i).result()] = {i, i, number, number, alone};
    }
    if (region.rider < 0) continue;
    read(region.rider);
    if (region.pass == 0) {
      lives[plan.call(region.rider).result()] = {region.rider, region.rider, number, number, true};
    }
  }
  const int end = static_cast<int>(plan.regions.size());
  for (size_t v = 0; v < lives.size(); ++v) {
    if (plan.program.wanted[v] && lives[v].region >= 0) {
      lives[v].crosses = true;
      lives[v].last_region = end;
    }
  }
  // Inputs are there from the beginning and stay.
  for (int input : plan.program.inputs) lives[input] = {-1, -1, -1, end, true};
  return lives;
}

// Values that outlive their region, and the states of calls with several passes.
void place_arena(const std::vector<Life>& lives, int batch, int threads, Plan& plan) {
  std::vector<Lifetime> blocks;
  std::vector<size_t> values;
  for (size_t v = 0; v < lives.size(); ++v) {
    if (!lives[v].crosses) continue;
    const ProgramValue& value = plan.program.values[v];
    blocks.push_back({lives[v].region, lives[v].last_region, batch * value.bytes()});
    values.push_back(v);
    plan.places[v].stride = value.grid.channels * value.element_bytes();
  }
  std::vector<ImageCall*> owners;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    if (region.pass > 0 || (!region.image && region.rider < 0)) continue;
    const int index = region.image ? region.first : region.rider;
    auto& call = static_cast<ImageCall&>(*plan.program.calls[index]);
    call.share_out({region.positions, batch, threads, !region.image});
    blocks.push_back(
        {static_cast<int>(r), static_cast<int>(r) + call.passes() - 1, call.state_bytes(batch)});
    plan.scratch_bytes = std::max(plan.scratch_bytes, call.task_bytes());
    owners.push_back(&call);
  }
  plan.arena_bytes = place_lifetimes(blocks);
  for (size_t i = 0; i < values.size(); ++i) plan.places[values[i]].offset = blocks[i].offset;
  for (size_t i = 0; i < owners.size(); ++i) {
    owners[i]->place_state(blocks[values.size() + i].offset);
  }
}

// Values that live and die inside one region: a tile of each.
void place_scratch(const std::vector<Life>& lives, Region& region, Plan& plan) {
  std::vector<Lifetime> blocks;
  std::vector<int> values;
  for (int i = region.first; i < region.last; ++i) {
    const int v = plan.call(i).result();
    if (lives[v].crosses) continue;
    const int64_t stride = scratch_stride(plan.program.values[v]);
    blocks.push_back({lives[v].call, lives[v].last_call, stride});
    values.push_back(v);
    plan.places[v].scratch = true;
    plan.places[v].stride = stride;
  }
  const int64_t row = place_lifetimes(blocks);  // bytes of one row
  // A sweep's tiles are fixed by the image; see regions.cpp.
  if (region.rider < 0) region.tile_rows = tile_rows_for(row);
  for (Lifetime& block : blocks) block.bytes *= region.tile_rows;
  plan.scratch_bytes = std::max(plan.scratch_bytes, place_lifetimes(blocks));
  for (size_t i = 0; i < blocks.size(); ++i) plan.places[values[i]].offset = blocks[i].offset;
}

}  // namespace

int64_t scratch_stride(const ProgramValue& value) {
  const int64_t stride = aligned(value.grid.channels * value.element_bytes());
  return stride % 2048 == 0 ? stride + kAlign : stride;
}

int64_t tile_rows_for(int64_t row_bytes) {
  if (row_bytes == 0) return kMaxTileRows;
  const int64_t strip = gemm_strip_rows();
  return std::clamp(kTileBytes / row_bytes / strip * strip, strip, kMaxTileRows);
}

int64_t place_lifetimes(std::vector<Lifetime>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  int64_t total = 0;
  std::vector<size_t> placed;  // by offset
  for (size_t index : order) {
    Lifetime& block = blocks[index];
    block.offset = 0;
    for (size_t other_index : placed) {
      const Lifetime& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (block.offset + block.bytes <= other.offset) break;
      block.offset = std::max(block.offset, aligned(other.offset + other.bytes));
    }
    total = std::max(total, block.offset + block.bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](size_t a, size_t b) {
      return blocks[a].offset < blocks[b].offset;
    });
    placed.insert(at, index);
  }
  return aligned(total);
}

Plan make_plan(Program program, int batch, int threads) {
  Plan plan;
  plan.program = std::move(program);
  plan.regions = make_regions(plan.program, batch, threads);
  for (const ProgramValue& value : plan.program.values) {
    plan.places.push_back({.element_bytes = value.element_bytes()});
  }
  const std::vector<Life> lives = lives_of(plan);
  place_arena(lives, batch, threads, plan);
  for (Region& region : plan.regions) place_scratch(lives, region, plan);
  plan.scratch_bytes = aligned(plan.scratch_bytes);
  return plan;
}

void bind_plan(Plan& plan, const PackedModel& model) {
  const Operands operands(plan.program.values, model);
  for (const auto& call : plan.program.calls) call->bind(operands);
}

size_t Plan::bound_bytes() const {
  size_t bytes = 0;
  for (const auto& call : program.calls) bytes += call->bound_bytes();
  return bytes;
}

}  // namespace vig
