#include "vig/runtime/segmented_session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "vig/base/buffer.h"
#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/base/scratch_file.h"
#include "vig/kernels/denormals.h"
#include "vig/kernels/gemm.h"
#include "vig/runtime/packed_model.h"
#include "vig/runtime/segment_plan.h"

namespace vig {
namespace {

using Kind = PhaseValue::Kind;

// Rows of segments to choose from. More would gain no time, fewer would lose some.
constexpr std::array<int64_t, 5> kSegmentRows = {4096, 2048, 1024, 512, 256};
constexpr int64_t kLoadBytes = 1 << 19;  // of one task

}  // namespace

struct SegmentedSession::Impl {
  struct alignas(64) SegmentCounter {
    std::atomic<int64_t> next{0};
  };
  // Rows of a value that are to be loaded.
  struct Load {
    const PhaseValue* value = nullptr;
    RowRange rows;
  };

  std::shared_ptr<const PackedModel> model;
  Graph graph;
  Program program;
  std::shared_ptr<ThreadPool> pool;
  SegmentPlan plan;
  int64_t segment_rows = 0;
  size_t bound_bytes = 0;
  Buffer arena, scratch;
  std::unique_ptr<ScratchFile> file;
  std::array<std::vector<SegmentCounter>, 2> counters;  // of the step that runs, and of the next
  const ReadLines* input = nullptr;
  std::atomic<int64_t> failed_step{INT64_MAX};
  std::mutex mutex;  // for what follows
  std::exception_ptr problem;

  // What each worker knows for itself, the same for all of them but for scratch.
  struct Worker {
    Worker(Impl& impl, int n)  // stays where it is
        : number(n),
          places(impl.plan.places),
          rows(places.size()),
          loaded(places.size()),
          bindings(impl.program.values, places, *impl.model, impl.start()),
          scratch(static_cast<std::byte*>(impl.scratch.data()) + impl.plan.scratch_bytes * n) {}

    int number;
    std::vector<Place> places;
    std::vector<RowRange> rows;    // that the segment needs, by value
    std::vector<RowRange> loaded;  // in windows of sources, by value
    Bindings bindings;
    std::byte* scratch;
    int64_t steps = 0;
    std::vector<Load> loads;
  };

  std::byte* start() { return static_cast<std::byte*>(arena.data()); }
  int threads() const { return pool->size(); }
  size_t bytes(const SegmentPlan& one) const {
    return static_cast<size_t>(one.arena_bytes + one.scratch_bytes * threads()) + bound_bytes;
  }

  void choose_plan(const Operands& operands, const SegmentedOptions& options) {
    const auto plan_for = [&](int64_t rows, bool in_file) {
      segment_rows = rows;
      plan = make_segment_plan(program, operands,
                               {.threads = threads(), .rows = rows, .in_file = in_file});
      return bytes(plan) <= options.max_bytes;
    };
    if (options.rows > 0) {
      if (plan_for(options.rows, options.in_file)) return;
    } else {
      for (const bool in_file : {false, true}) {
        for (const int64_t rows : kSegmentRows) {
          if (plan_for(rows, in_file)) return;
        }
      }
    }
    fail("by segments it needs {} bytes of memory, more than the {} allowed", bytes(plan),
         options.max_bytes);
  }

  // The node of an output that was asked for.
  int wanted(std::string_view name) const {
    const int node = graph.find_output(name);
    if (node < 0) fail_usage("the model has no output '{}'", name);
    if (!program.wanted[node]) fail_usage("output '{}' was not asked for", name);
    return node;
  }

  // ---- a run ----

  // Work that all workers share, and wait for. False: it failed, here or elsewhere.
  template <class F>
  bool step(Worker& worker, int64_t tasks, const F& run_task) {
    const int workers = threads();
    auto& now = counters[static_cast<size_t>(worker.steps % 2)];
    auto& next = counters[static_cast<size_t>((worker.steps + 1) % 2)];
    if (worker.number == 0) {  // they are not used during this step
      for (SegmentCounter& counter : next) counter.next.store(0, std::memory_order_relaxed);
    }
    try {
      for (int turn = 0; turn < workers; ++turn) {
        const int share = (worker.number + turn) % workers;
        const int64_t first = tasks * share / workers;
        const int64_t count = tasks * (share + 1) / workers - first;
        std::atomic<int64_t>& taken = now[static_cast<size_t>(share)].next;
        while (taken.load(std::memory_order_relaxed) < count) {
          const int64_t task = taken.fetch_add(1, std::memory_order_relaxed);
          if (task < count) run_task(first + task);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!problem) problem = std::current_exception();
      failed_step.store(std::min(failed_step.load(), worker.steps));
    }
    pool->barrier();
    // One that is ahead may have failed in a later step already, in which all meet again.
    return failed_step.load() > worker.steps++;
  }

  // Rows of a stored value to or from memory.
  void read_stored(int value, const RowRange& rows, void* to) const {
    const int64_t stride = program.values[value].bytes() / program.values[value].grid.positions();
    const int64_t offset = plan.stored[value] + rows.first * stride;
    if (plan.in_file) return file->read(offset, to, rows.rows() * stride);
    std::memcpy(to, static_cast<const std::byte*>(arena.data()) + offset,
                static_cast<size_t>(rows.rows() * stride));
  }
  void write_stored(int value, const RowRange& rows, const void* from) {
    const int64_t stride = program.values[value].bytes() / program.values[value].grid.positions();
    const int64_t offset = plan.stored[value] + rows.first * stride;
    if (plan.in_file) return file->write(offset, from, rows.rows() * stride);
    std::memcpy(start() + offset, from, static_cast<size_t>(rows.rows() * stride));
  }

  // Puts the windows where the rows of the segment go, and keeps the rows of sources that the last
  // segment had, too. Every worker places the windows for itself; one worker keeps the rows.
  bool load_sources(Worker& worker, const Phase& phase) {
    worker.loads.clear();
    bool moves = false;
    for (const PhaseValue& value : phase.values) {
      Place& place = worker.places[value.value];
      const RowRange& rows = worker.rows[value.value];
      place.offset = value.kind == Kind::kDirect ? plan.stored[value.value]
                                                 : value.offset - rows.first * place.stride;
      if (value.kind != Kind::kSource) continue;
      const RowRange old = worker.loaded[value.value];
      const RowRange both{std::max(old.first, rows.first), std::min(old.last, rows.last)};
      moves = moves || !both.empty();
      const auto load = [&](int64_t first, int64_t last) {
        const bool lines = plan.stored[value.value] < 0;
        const int64_t part = lines ? last - first : std::max<int64_t>(1, kLoadBytes / place.stride);
        for (; first < last; first += part) {
          worker.loads.push_back({&value, {first, std::min(last, first + part)}});
        }
      };
      if (both.empty()) {
        load(rows.first, rows.last);
      } else {
        load(rows.first, both.first);
        load(both.last, rows.last);
      }
    }
    const auto move_rows = [&](int64_t) {
      for (const PhaseValue& value : phase.values) {
        if (value.kind != Kind::kSource) continue;
        const RowRange& old = worker.loaded[value.value];
        const RowRange& rows = worker.rows[value.value];
        const RowRange both{std::max(old.first, rows.first), std::min(old.last, rows.last)};
        if (both.empty()) continue;
        const int64_t stride = worker.places[value.value].stride;
        std::byte* const window = start() + value.offset;
        std::memmove(window + (both.first - rows.first) * stride,
                     window + (both.first - old.first) * stride,
                     static_cast<size_t>(both.rows() * stride));
      }
    };
    if (moves && !step(worker, 1, move_rows)) return false;
    for (const PhaseValue& value : phase.values) {
      if (value.kind == Kind::kSource) worker.loaded[value.value] = worker.rows[value.value];
    }
    return step(worker, static_cast<int64_t>(worker.loads.size()), [&](int64_t task) {
      const Load& load = worker.loads[static_cast<size_t>(task)];
      const int value = load.value->value;
      auto* const to = worker.bindings.row<float>(value, load.rows.first);
      if (plan.stored[value] >= 0) return read_stored(value, load.rows, to);
      const int64_t width = program.values[value].grid.width;
      (*input)(load.rows.first / width, load.rows.last / width, to);
    });
  }

  bool run_region(Worker& worker, const Phase& phase, const SegmentRegion& region,
                  const SegmentPart& part) {
    if (region.image) {
      const auto& call = static_cast<const ImageCall&>(*program.calls[region.calls[0]]);
      return step(worker, call.segment_tasks(worker.bindings),
                  [&](int64_t task) { call.run_segment(worker.bindings, part, task); });
    }
    // Tiles are whole strips of the matrix product, as even as strips allow.
    const int result = program.calls[region.calls[0]]->result();
    const RowRange rows = worker.rows[result];
    const int64_t strip = gemm_strip_rows();
    const int64_t strips = (rows.rows() + strip - 1) / strip;
    const int64_t most = region.tile_rows / strip;
    const int64_t needed = (strips + most - 1) / most;
    const int64_t tiles = std::min(strips, (needed + threads() - 1) / threads() * threads());
    const auto tile_start = [&](int64_t tile) {
      return std::min(rows.last, rows.first + strips * tile / tiles * strip);
    };
    return step(worker, rows.empty() ? 0 : tiles, [&](int64_t task) {
      Tile tile;
      tile.first = tile_start(task);
      tile.last = tile_start(task + 1);
      tile.positions = program.values[result].grid.positions();
      tile.scratch = worker.scratch;
      for (int c : region.calls) program.calls[c]->run(worker.bindings, tile);
      if (!part.states) store_tile(worker, phase, region, part.rows, tile);
    });
  }

  void store_tile(Worker& worker, const Phase& phase, const SegmentRegion& region,
                  const RowRange& segment, const Tile& tile) {
    const RowRange rows{std::max(tile.first, segment.first), std::min(tile.last, segment.last)};
    if (rows.empty()) return;
    for (const PhaseValue& value : phase.values) {
      if (value.kind != Kind::kResult) continue;
      const bool made = std::ranges::any_of(
          region.calls, [&](int c) { return program.calls[c]->result() == value.value; });
      if (made) {
        write_stored(value.value, rows, worker.bindings.row<std::byte>(value.value, rows.first));
      }
    }
  }

  bool run_segment(Worker& worker, const Phase& phase, int64_t segment, bool states) {
    find_needed_rows(program, worker.bindings, phase, segment, states, worker.rows);
    if (!load_sources(worker, phase)) return false;
    SegmentPart part{phase.segment(segment), states, nullptr};
    if (phase.scan >= 0) {
      const auto& scan = static_cast<const ImageCall&>(*program.calls[phase.scan]);
      // Kept for segment i: the state behind it. There is none behind the last one.
      const int64_t slot = states ? segment - 1 : segment;
      if (slot >= 0 && slot + 1 < phase.segments()) {
        part.kept = start() + phase.kept + slot * scan.kept_bytes();
      }
    }
    for (const SegmentRegion& region : states ? phase.states : phase.regions) {
      if (!run_region(worker, phase, region, part)) return false;
    }
    return true;
  }

  void work(Worker& worker) {
    const FlushDenormals flush;
    for (const Phase& phase : plan.phases) {
      const int64_t segments = phase.segments();
      for (int64_t s = phase.scan < 0 ? 0 : segments - 1; s > 0; --s) {
        if (!run_segment(worker, phase, s, true)) return;
      }
      // The last sweep's windows stay as long as their rows are the same; results replace them.
      for (int64_t s = 0; s < segments; ++s) {
        if (!run_segment(worker, phase, s, false)) return;
      }
      std::ranges::fill(worker.loaded, RowRange{});
    }
  }
};

SegmentedSession::SegmentedSession(std::shared_ptr<const PackedModel> model, Graph graph,
                                   const SegmentedOptions& options)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.program = lower(graph, {}, model->precision());
  model->check(graph, impl.program);
  check_segments(impl.program);
  if (!options.outputs.empty()) {
    for (const Output& output : graph.outputs) impl.program.wanted[output.node] = false;
    for (const std::string& name : options.outputs) {
      const int node = graph.find_output(name);
      if (node < 0) fail_usage("the model has no output '{}'", name);
      impl.program.wanted[node] = true;
    }
  }
  impl.model = std::move(model);
  impl.graph = std::move(graph);
  impl.pool = options.thread_pool;
  if (impl.pool == nullptr) {
    impl.pool =
        std::make_shared<ThreadPool>(options.threads > 0 ? options.threads : default_threads());
  }
  const Operands operands(impl.program.values, *impl.model);
  for (const auto& call : impl.program.calls) {
    call->bind_segments(operands);
    impl.bound_bytes += call->bound_bytes();
  }
  impl.choose_plan(operands, options);
  impl.arena = Buffer(static_cast<size_t>(impl.plan.arena_bytes));
  impl.scratch = Buffer(static_cast<size_t>(impl.plan.scratch_bytes * impl.threads()));
  if (impl.plan.file_bytes > 0) {
    const std::string folder =
        options.folder.empty() ? std::filesystem::temp_directory_path().string() : options.folder;
    impl.file = std::make_unique<ScratchFile>(folder, impl.plan.file_bytes);
  }
  for (auto& counters : impl.counters) {
    counters = std::vector<Impl::SegmentCounter>(static_cast<size_t>(impl.threads()));
  }
}

SegmentedSession::~SegmentedSession() = default;
SegmentedSession::SegmentedSession(SegmentedSession&&) noexcept = default;
SegmentedSession& SegmentedSession::operator=(SegmentedSession&&) noexcept = default;

void SegmentedSession::run(const ReadLines& input) {
  Impl& impl = *impl_;
  impl.input = &input;
  impl.failed_step = INT64_MAX;
  impl.problem = nullptr;
  for (auto& counters : impl.counters) {
    for (Impl::SegmentCounter& counter : counters) counter.next.store(0, std::memory_order_relaxed);
  }
  std::vector<std::unique_ptr<Impl::Worker>> workers;
  for (int i = 0; i < impl.threads(); ++i) {
    workers.push_back(std::make_unique<Impl::Worker>(impl, i));
  }
  impl.pool->run([&](int worker) { impl.work(*workers[static_cast<size_t>(worker)]); });
  impl.input = nullptr;
  if (impl.problem) std::rethrow_exception(std::exchange(impl.problem, nullptr));
}

std::vector<float> SegmentedSession::output(std::string_view name) const {
  const Grid& grid = impl_->graph.node(impl_->wanted(name)).grid;
  std::vector<float> values(static_cast<size_t>(grid.elements()));
  read_output(name, 0, grid.height, values.data());
  return values;
}

void SegmentedSession::read_output(std::string_view name, int64_t first, int64_t last,
                                   float* out) const {
  const Impl& impl = *impl_;
  const int node = impl.wanted(name);
  const Grid& grid = impl.graph.node(node).grid;
  if (impl.plan.stored[node] >= 0) {
    return impl.read_stored(node, {first * grid.width, last * grid.width}, out);
  }
  const int64_t line = int64_t{grid.width} * grid.channels;
  const auto* values = reinterpret_cast<const float*>(
      static_cast<const std::byte*>(impl.arena.data()) + impl.plan.places[node].offset);
  std::copy_n(values + first * line, (last - first) * line, out);
}

const Graph& SegmentedSession::graph() const { return impl_->graph; }
size_t SegmentedSession::bytes() const { return impl_->bytes(impl_->plan); }
uint64_t SegmentedSession::file_bytes() const {
  return static_cast<uint64_t>(impl_->plan.file_bytes);
}
int64_t SegmentedSession::segment_rows() const { return impl_->segment_rows; }

}  // namespace vig
