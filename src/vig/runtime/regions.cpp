#include "vig/runtime/regions.h"

#include <algorithm>

#include "vig/kernels/gemm.h"

namespace vig {
namespace {

std::vector<Region> separate_regions(const Program& program, int batch, int threads) {
  std::vector<Region> regions;
  std::vector<int> home(program.values.size(), -1);  // region that makes each value
  for (size_t i = 0; i < program.calls.size(); ++i) {
    const KernelCall& call = *program.calls[i];
    const bool image = call.reach() == Reach::kImage;
    const int64_t positions = program.values[call.result()].grid.positions();
    bool joins = !regions.empty() && !image && !regions.back().image &&
                 regions.back().positions == positions;
    // A call that is split over columns stands alone.
    if (joins && few_rows(batch * positions, threads)) {
      joins = !call.has_columns() && !program.calls[i - 1]->has_columns();
    }
    for (int value : gathered_by(call)) {
      joins = joins && home[value] != static_cast<int>(regions.size()) - 1;
    }
    const int index = static_cast<int>(i);
    if (!joins) regions.push_back({image, index, index, positions});
    regions.back().last = index + 1;
    const int passes = image ? static_cast<const ImageCall&>(call).passes() : 1;
    for (int pass = 1; pass < passes; ++pass) {
      regions.push_back({true, index, index + 1, positions, -1, pass});
    }
    home[call.result()] = static_cast<int>(regions.size()) - 1;
  }
  return regions;
}

// Whether workers share out evenly over halves of images.
bool halves_fill_workers(int batch, int threads) {
  const int64_t halves = 2 * static_cast<int64_t>(batch);
  return halves % threads == 0 || halves >= 8 * static_cast<int64_t>(threads);
}

bool gathers(const Program& program, const Region& region, int value) {
  for (int i = region.first; i < region.last; ++i) {
    const std::vector<int> gathered = gathered_by(*program.calls[i]);
    if (std::find(gathered.begin(), gathered.end(), value) != gathered.end()) return true;
  }
  return false;
}

// Whether a tile of the most rows stays in the cache. The tiles of a sweep are fixed by the
// image, so rows too wide for them must go by tiles of their own.
bool fits_full_tiles(const Program& program, const Region& region) {
  for (int i = region.first; i < region.last; ++i) {
    const ProgramValue& made = program.values[program.calls[i]->result()];
    if (made.grid.channels * made.element_bytes() * kMaxTileRows > kTileBytes) return false;
  }
  return true;
}

// Lets both passes of a sweep ride along with the tile regions around it, where the rows are the
// same.
void let_sweeps_ride(const Program& program, std::vector<Region>& regions) {
  for (size_t r = 1; r + 2 < regions.size(); ++r) {
    if (!regions[r].image || regions[r].pass != 0) continue;
    const int index = regions[r].first;
    const auto& call = static_cast<const ImageCall&>(*program.calls[index]);
    if (!call.sweeps()) continue;
    Region &before = regions[r - 1], &after = regions[r + 2];
    const int64_t positions = regions[r].positions;
    if (before.image || after.image || before.rider >= 0 || before.positions != positions ||
        after.positions != positions || few_rows(positions, 2) ||
        gathers(program, after, call.result()) || !fits_full_tiles(program, before) ||
        !fits_full_tiles(program, after)) {
      continue;
    }
    before.rider = after.rider = index;
    after.pass = 1;
    regions.erase(regions.begin() + static_cast<ptrdiff_t>(r),
                  regions.begin() + static_cast<ptrdiff_t>(r) + 2);
  }
}

}  // namespace

std::vector<int> gathered_by(const KernelCall& call) {
  return call.reach() == Reach::kRow ? std::vector<int>{} : call.operands();
}

bool few_rows(int64_t rows, int threads) {
  constexpr int64_t kStrips = 3;  // a worker should use each weight for so many strips at least
  return threads > 1 && rows < kStrips * gemm_strip_rows() * threads;
}

std::vector<Region> make_regions(const Program& program, int batch, int threads) {
  std::vector<Region> regions = separate_regions(program, batch, threads);
  if (halves_fill_workers(batch, threads)) let_sweeps_ride(program, regions);
  return regions;
}

// Two strips of 14 rows, or of 6, are a multiple of any chunk.
int64_t SweepTiles::count() const {
  const int64_t pair = 2 * gemm_strip_rows();
  const int64_t pairs = (last - first + pair - 1) / pair;
  const int64_t most = kMaxTileRows / pair;
  return (pairs + most - 1) / most;
}

int64_t SweepTiles::start(int64_t tile) const {
  const int64_t pair = 2 * gemm_strip_rows();
  const int64_t pairs = (last - first + pair - 1) / pair;
  return std::min(last, first + pairs * tile / std::max<int64_t>(1, count()) * pair);
}

int64_t SweepTiles::tile_from(int64_t row) const {
  int64_t low = 0, high = count();
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    start(middle) < row ? low = middle + 1 : high = middle;
  }
  return low;
}

SweepTiles SweepTiles::of_half(int64_t positions, bool back) {
  const int64_t strip = gemm_strip_rows();
  const int64_t split = (positions / 2 + strip / 2) / strip * strip;
  return back ? SweepTiles{split, positions} : SweepTiles{0, split};
}

}  // namespace vig
