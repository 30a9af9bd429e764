#include "vig/runtime/phases.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "vig/base/error.h"
#include "vig/runtime/regions.h"

namespace vig {
namespace {

bool needs_image(const Program& program, int call) {
  return program.calls[call]->reach() == Reach::kImage;
}

int64_t rows_of(const Program& program, int value) {
  return program.values[value].grid.positions();
}

// The rows that a call goes over; those of its result, unless that is a mean.
int64_t rows_of_call(const Program& program, int call) {
  const KernelCall& one = *program.calls[call];
  return rows_of(program, needs_image(program, call) ? one.operands().at(0) : one.result());
}

bool is_mean(const Program& program, int call) {
  return needs_image(program, call) &&
         rows_of(program, program.calls[call]->result()) != rows_of_call(program, call);
}

// Bytes of the values that must be stored where the program is cut before a call, by call.
std::vector<int64_t> bytes_alive(const Program& program, const ValueUses& uses) {
  const int calls = static_cast<int>(program.calls.size());
  std::vector<int64_t> alive(static_cast<size_t>(calls) + 1, 0);
  for (size_t v = 0; v < program.values.size(); ++v) {
    for (int c = uses.made[v] + 1; c <= std::min(uses.last[v], calls); ++c) {
      alive[static_cast<size_t>(c)] += program.values[v].bytes();
    }
  }
  return alive;
}

// Where a phase with a scan ends: behind calls that take the scan's rows one by one. A mean of
// them is part of it.
int end_behind_scan(const Program& program, const std::vector<int64_t>& alive, int scan) {
  const int calls = static_cast<int>(program.calls.size());
  const int64_t rows = rows_of_call(program, scan);
  int best = scan + 1;
  for (int c = scan + 1;; ++c) {
    if (alive[static_cast<size_t>(c)] <= alive[static_cast<size_t>(best)]) best = c;
    if (c == calls || rows_of_call(program, c) != rows) return best;
    if (is_mean(program, c)) return c + 1;
    if (program.calls[c]->reach() != Reach::kRow) return best;
  }
}

// Where the calls in front of an image call are cut off: not at all if nothing is gained.
int end_before(const std::vector<int64_t>& alive, int start, int call) {
  int best = start;
  for (int c = start + 1; c <= call; ++c) {
    const int64_t gain = alive[static_cast<size_t>(best)] - alive[static_cast<size_t>(c)];
    if (gain > 0 || (gain == 0 && best > start)) best = c;
  }
  return best;
}

}  // namespace

ValueUses::ValueUses(const Program& program)
    : made(program.values.size(), -1), last(program.values.size(), -1) {
  const int calls = static_cast<int>(program.calls.size());
  for (int c = 0; c < calls; ++c) {
    for (int value : program.calls[c]->operands()) last[value] = c;
    made[program.calls[c]->result()] = c;
  }
  for (size_t v = 0; v < made.size(); ++v) {
    if (program.wanted[v] && made[v] >= 0) last[v] = calls;
  }
}

std::vector<Phase> cut_phases(const Program& program, const ValueUses& uses) {
  const std::vector<int64_t> alive = bytes_alive(program, uses);
  const int calls = static_cast<int>(program.calls.size());
  std::vector<Phase> phases;
  int start = 0;
  const auto end_phase = [&](int end, int image_call) {
    if (end == start) return;
    Phase phase;
    phase.first = start;
    phase.last = start = end;
    if (image_call >= 0) phase.positions = rows_of_call(program, image_call);
    const auto keeps = [&](int c) {
      return static_cast<const ImageCall&>(*program.calls[c]).keeps_states();
    };
    if (image_call >= 0 && keeps(image_call)) phase.scan = image_call;
    bool used = false;
    for (int c = phase.first; c < phase.last; ++c) {
      const int result = program.calls[c]->result();
      if (uses.last[result] < phase.last) continue;
      used = true;
      const int64_t rows = rows_of(program, result);
      if (image_call < 0 && phase.positions == 0) phase.positions = rows;
      if (rows != phase.positions && !is_mean(program, c)) {
        fail("maps of {} and {} positions are needed at once, which does not work by segments",
             phase.positions, rows);
      }
    }
    if (used) phases.push_back(std::move(phase));
  };
  for (int c = 0; c < calls; ++c) {
    if (!needs_image(program, c)) continue;
    end_phase(end_before(alive, start, c), -1);
    end_phase(is_mean(program, c) ? c + 1 : end_behind_scan(program, alive, c), c);
    c = start - 1;
  }
  end_phase(calls, -1);
  return phases;
}

void find_regions(const Program& program, Phase& phase) {
  std::vector<int> home(program.values.size(), -1);  // region that makes each value
  int64_t rows = 0;                                  // of the last region
  for (int c = phase.first; c < phase.last; ++c) {
    const KernelCall& call = *program.calls[c];
    const bool image = needs_image(program, c);
    const int last = static_cast<int>(phase.regions.size()) - 1;
    bool joins = last >= 0 && !image && !phase.regions.back().image &&
                 rows_of(program, call.result()) == rows;
    for (int value : gathered_by(call)) joins = joins && home[value] != last;
    if (!joins) {
      phase.regions.emplace_back();
      phase.regions.back().image = image;
      rows = rows_of(program, call.result());
    }
    phase.regions.back().calls.push_back(c);
    home[call.result()] = static_cast<int>(phase.regions.size()) - 1;
  }
  if (phase.scan < 0) return;
  // What the scan reads, from its end.
  std::set<int> needed = {program.calls[phase.scan]->result()};
  for (int c = phase.scan; c >= phase.first; --c) {
    if (!needed.contains(program.calls[c]->result())) continue;
    for (int value : program.calls[c]->operands()) needed.insert(value);
  }
  for (const SegmentRegion& region : phase.regions) {
    SegmentRegion part;
    part.image = region.image;
    for (int c : region.calls) {
      if (c <= phase.scan && needed.contains(program.calls[c]->result())) part.calls.push_back(c);
    }
    if (!part.calls.empty()) phase.states.push_back(std::move(part));
  }
}

}  // namespace vig
