#include "vig/runtime/segment_plan.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/kernels/gemm.h"
#include "vig/runtime/phases.h"
#include "vig/runtime/plan.h"

namespace vig {
namespace {

using Kind = PhaseValue::Kind;

RowRange joined(const RowRange& a, const RowRange& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

// Makes the plan of one program.
class SegmentPlanner {
 public:
  SegmentPlanner(Program& program, const Operands& operands, const SegmentSizes& sizes)
      : program_(program), operands_(operands), sizes_(sizes), uses_(program) {}

  SegmentPlan make() {
    plan_.phases = cut_phases(program_, uses_);
    plan_.in_file = sizes_.in_file;
    plan_.stored.assign(program_.values.size(), -1);
    for (const ProgramValue& value : program_.values) {
      plan_.places.push_back({.stride = value.grid.channels * value.element_bytes(),
                              .element_bytes = value.element_bytes()});
    }
    last_phase_.assign(program_.values.size(), -1);
    for (size_t p = 0; p < plan_.phases.size(); ++p) {
      Phase& phase = plan_.phases[p];
      find_regions(program_, phase);
      find_borders(phase);
      find_values(phase);
      for (const PhaseValue& value : phase.values) {
        if (value.kind == Kind::kSource) last_phase_[value.value] = static_cast<int>(p);
      }
      for (int value : single_rows_read(phase)) last_phase_[value] = static_cast<int>(p);
    }
    store_values();
    const int64_t shared = plan_.arena_bytes;
    for (Phase& phase : plan_.phases) {
      place_windows(phase, shared);
      for (SegmentRegion& region : phase.regions) place_scratch(phase, region);
      // The regions of the sweep from the end are parts of the others.
      for (SegmentRegion& part : phase.states) {
        for (const SegmentRegion& region : phase.regions) {
          if (std::ranges::count(region.calls, part.calls[0]) > 0) {
            part.tile_rows = region.tile_rows;
          }
        }
      }
    }
    plan_.scratch_bytes = (plan_.scratch_bytes + 63) / 64 * 64;
    return std::move(plan_);
  }

 private:
  const Grid& grid(int value) const { return program_.values[value].grid; }
  const KernelCall& call(int index) const { return *program_.calls[index]; }
  ImageCall& image_call(int index) const { return static_cast<ImageCall&>(*program_.calls[index]); }
  // The row of a mean and what follows of it: always in the arena.
  bool single(int value) const { return grid(value).positions() == 1; }
  // Whether the result of a call is stored for the whole image.
  bool leaves(const Phase& phase, int index) const {
    const int value = call(index).result();
    const bool row = single(value) && call(index).reach() == Reach::kImage;
    return row || uses_.last[value] >= phase.last;
  }

  void find_borders(Phase& phase) const {
    // Segments end with lines where they may, so that fewer rows are seen twice.
    int64_t line = 1;
    for (int c = phase.first; c < phase.last; ++c) {
      if (grid(call(c).result()).positions() == phase.positions) {
        line = grid(call(c).result()).width;
      }
    }
    phase.borders = {0};
    while (phase.borders.back() < phase.positions) {
      const int64_t rows = std::max(sizes_.rows, int64_t{1});
      const int64_t last = (phase.borders.back() + rows + line - 1) / line * line;
      int64_t end = std::min(phase.positions, phase.scan >= 0 ? phase.borders.back() + rows : last);
      for (const SegmentRegion& region : phase.regions) {
        if (region.image) end = image_call(region.calls[0]).segment_end(phase.positions, end);
      }
      phase.borders.push_back(end);
    }
  }

  std::vector<int> single_rows_read(const Phase& phase) const {
    std::vector<int> values;
    for (int c = phase.first; c < phase.last; ++c) {
      for (int value : call(c).operands()) {
        if (single(value) && uses_.made[value] < phase.first) values.push_back(value);
      }
    }
    return values;
  }

  // Which values have windows, and of how many rows.
  void find_values(Phase& phase) {
    std::vector<int> home(program_.values.size(), -1);
    std::vector<bool> crosses(program_.values.size(), false);
    std::vector<bool> seen(program_.values.size(), false);
    for (size_t r = 0; r < phase.regions.size(); ++r) {
      for (int c : phase.regions[r].calls) {
        for (int value : call(c).operands()) {
          if (home[value] != static_cast<int>(r)) crosses[value] = true;
          if (uses_.made[value] >= phase.first || seen[value]) continue;
          if (single(value) && uses_.made[value] >= 0) continue;
          seen[value] = true;
          phase.values.push_back({value, Kind::kSource});
        }
        home[call(c).result()] = static_cast<int>(r);
        crosses[call(c).result()] = phase.regions[r].image;
      }
    }
    for (int c = phase.first; c < phase.last; ++c) {
      const int value = call(c).result();
      if (leaves(phase, c)) {
        if (single(value)) continue;
        phase.values.push_back({value, sizes_.in_file ? Kind::kResult : Kind::kDirect});
      } else if (crosses[value]) {
        phase.values.push_back({value, Kind::kWindow});
      }
    }
    measure_windows(phase);
  }

  void measure_windows(Phase& phase) const {
    std::vector<RowRange> rows(program_.values.size());
    for (int64_t s = 0; s < phase.segments(); ++s) {
      for (const bool states : {false, true}) {
        if (states && phase.scan < 0) continue;
        find_needed_rows(program_, operands_, phase, s, states, rows);
        for (PhaseValue& value : phase.values) {
          value.rows = std::max(value.rows, rows[value.value].rows());
          // What is computed beyond the segment must not be stored.
          if (value.kind == Kind::kDirect && !states && rows[value.value] != phase.segment(s)) {
            value.kind = Kind::kResult;
          }
        }
      }
    }
  }

  // Whether a result can take the memory of a source: the same rows, each read before it is
  // written.
  bool replaces(const Phase& phase, int source, int result) const {
    if (program_.values[source].bytes() != program_.values[result].bytes() ||
        grid(source).positions() != grid(result).positions() || program_.wanted[source]) {
      return false;
    }
    std::vector<RowRange> rows(program_.values.size());
    for (int64_t s = 0; s < phase.segments(); ++s) {
      find_needed_rows(program_, operands_, phase, s, false, rows);
      if (rows[source].last < phase.segment(s).last) return false;
    }
    return true;
  }

  // Values of the whole image, over phases: maps in file or arena, single rows in the arena.
  void store_values() {
    std::vector<Lifetime> maps, single_rows;
    std::vector<int> block(program_.values.size(), -1), row(program_.values.size(), -1);
    const int end = static_cast<int>(plan_.phases.size());
    for (int p = 0; p < end; ++p) {
      const Phase& phase = plan_.phases[static_cast<size_t>(p)];
      const auto last_of = [&](int value) {
        return program_.wanted[value] ? end : std::max(p, last_phase_[value]);
      };
      std::vector<int> ending;  // sources whose memory is free for results
      for (const PhaseValue& source : phase.values) {
        if (source.kind == Kind::kSource && block[source.value] >= 0 &&
            last_phase_[source.value] == p) {
          ending.push_back(source.value);
        }
      }
      for (int c = phase.first; c < phase.last; ++c) {
        const int value = call(c).result();
        if (!leaves(phase, c)) continue;
        if (single(value)) {
          row[value] = static_cast<int>(single_rows.size());
          single_rows.push_back({p, last_of(value), program_.values[value].bytes()});
          continue;
        }
        const auto source = std::ranges::find_if(
            ending, [&](int candidate) { return replaces(phase, candidate, value); });
        if (source != ending.end()) {
          block[value] = block[*source];
          maps[static_cast<size_t>(block[value])].last = last_of(value);
          ending.erase(source);
        } else {
          block[value] = static_cast<int>(maps.size());
          maps.push_back({p, last_of(value), program_.values[value].bytes()});
        }
      }
    }
    const int64_t map_bytes = place_lifetimes(maps);
    const int64_t row_bytes = place_lifetimes(single_rows);
    (sizes_.in_file ? plan_.file_bytes : plan_.arena_bytes) = map_bytes;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (block[v] >= 0) plan_.stored[v] = maps[static_cast<size_t>(block[v])].offset;
      if (row[v] >= 0) {
        plan_.places[v].offset =
            plan_.arena_bytes + single_rows[static_cast<size_t>(row[v])].offset;
      }
    }
    plan_.arena_bytes += row_bytes;
  }

  // Windows over the regions of a phase; region -1 loads.
  void place_windows(Phase& phase, int64_t start) {
    const int end = static_cast<int>(phase.regions.size());
    std::vector<Lifetime> blocks;
    for (const PhaseValue& value : phase.values) {
      const int64_t bytes =
          value.kind == Kind::kDirect ? 0 : value.rows * plan_.places[value.value].stride;
      Lifetime life{-1, end, bytes};
      if (value.kind != Kind::kSource) life = region_life(phase, value.value, bytes);
      blocks.push_back(life);
    }
    std::vector<ImageCall*> owners;
    for (const SegmentRegion& region : phase.regions) {
      if (!region.image) continue;
      ImageCall& owner = image_call(region.calls[0]);
      owner.share_out({.positions = phase.positions, .threads = sizes_.threads, .segments = true});
      blocks.push_back({-1, end, owner.state_bytes(1)});
      owners.push_back(&owner);
    }
    if (phase.scan >= 0) {
      blocks.push_back({-1, end, phase.segments() * image_call(phase.scan).kept_bytes()});
    }
    plan_.arena_bytes = std::max(plan_.arena_bytes, start + place_lifetimes(blocks));
    size_t b = 0;
    for (PhaseValue& value : phase.values) value.offset = start + blocks[b++].offset;
    for (ImageCall* owner : owners) owner->place_state(start + blocks[b++].offset);
    if (phase.scan >= 0) phase.kept = start + blocks[b].offset;
  }

  Lifetime region_life(const Phase& phase, int value, int64_t bytes) const {
    Lifetime life{0, 0, bytes};
    for (int r = 0; r < static_cast<int>(phase.regions.size()); ++r) {
      for (int c : phase.regions[static_cast<size_t>(r)].calls) {
        if (call(c).result() == value) life.first = life.last = r;
        const std::vector<int> operands = call(c).operands();
        if (std::ranges::count(operands, value) > 0) life.last = r;
      }
    }
    return life;
  }

  // Tiles of values that stay in one region.
  void place_scratch(const Phase& phase, SegmentRegion& region) {
    if (region.image) return;
    std::vector<Lifetime> blocks;
    std::vector<int> values;
    for (int c : region.calls) {
      const int value = call(c).result();
      const bool windowed = std::ranges::any_of(
          phase.values, [&](const PhaseValue& one) { return one.value == value; });
      if (leaves(phase, c) || windowed) continue;
      const int64_t stride = scratch_stride(program_.values[value]);
      blocks.push_back({c, std::max(c, uses_.last[value]), stride});
      values.push_back(value);
      plan_.places[value].scratch = true;
      plan_.places[value].stride = stride;
    }
    region.tile_rows = tile_rows_for(place_lifetimes(blocks));
    for (Lifetime& block : blocks) block.bytes *= region.tile_rows;
    plan_.scratch_bytes = std::max(plan_.scratch_bytes, place_lifetimes(blocks));
    for (size_t i = 0; i < blocks.size(); ++i) plan_.places[values[i]].offset = blocks[i].offset;
  }

  Program& program_;
  const Operands& operands_;
  const SegmentSizes& sizes_;
  const ValueUses uses_;
  std::vector<int> last_phase_;  // that reads a stored value; -1: none
  SegmentPlan plan_;
};

}  // namespace

void check_segments(const Program& program) {
  bool scans = false;
  for (const auto& call : program.calls) {
    if (call->reach() != Reach::kImage) continue;
    const auto& image = static_cast<const ImageCall&>(*call);
    if (!image.has_segments()) {
      fail("its layers of the kind '{}' need the whole image at once", call->kind());
    }
    const auto rows = [&](int value) { return program.values[value].grid.positions(); };
    scans = scans || rows(image.result()) == rows(image.operands().at(0));
  }
  if (!scans) fail("only networks that scan the image run by segments");
  if (program.inputs.size() != 1) {
    fail("it has {} inputs, expected one to run by segments", program.inputs.size());
  }
}

SegmentPlan make_segment_plan(Program& program, const Operands& operands,
                              const SegmentSizes& sizes) {
  return SegmentPlanner(program, operands, sizes).make();
}

void find_needed_rows(const Program& program, const Operands& operands, const Phase& phase,
                      int64_t segment, bool states, std::vector<RowRange>& rows) {
  const RowRange own = phase.segment(segment);
  const std::vector<SegmentRegion>& regions = states ? phase.states : phase.regions;
  for (int c = phase.first; c < phase.last; ++c) rows[program.calls[c]->result()] = {};
  for (const PhaseValue& value : phase.values) {
    const bool stored = value.kind == Kind::kResult || value.kind == Kind::kDirect;
    rows[value.value] = stored && !states ? own : RowRange{};
  }
  for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
    RowRange made;
    for (int c : region->calls) made = joined(made, rows[program.calls[c]->result()]);
    if (region->image) {
      if (made.first < own.first && !made.empty()) fail("rows before a segment are needed of it");
      if (made.last > own.last && !made.empty()) fail("rows behind a segment are needed of it");
      made = own;
    } else if (phase.positions == 1) {
      made = own;
    }
    if (made.empty()) continue;
    for (int c : region->calls) {
      const KernelCall& call = *program.calls[c];
      rows[call.result()] = made;
      for (int value : call.operands()) {
        const Grid& grid = program.values[value].grid;
        if (grid.positions() == 1 && phase.positions > 1) continue;
        const auto needed =
            region->image ? std::optional(own) : call.needed_rows(operands, value, made);
        if (!needed) fail("its layers of the kind '{}' may need any row", call.kind());
        rows[value] = joined(rows[value], *needed);
      }
    }
  }
  // The input comes in whole lines.
  for (int value : program.inputs) {
    const int64_t width = program.values[value].grid.width;
    RowRange& needed = rows[value];
    needed.first = needed.first / width * width;
    needed.last = (needed.last + width - 1) / width * width;
  }
}

}  // namespace vig
