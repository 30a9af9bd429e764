#include "vig/runtime/session.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/kernels/denormals.h"
#include "vig/runtime/executor.h"

namespace vig {

// Hands out one worker's share of a region's tasks, alone on its cache line. Worker w always begins
// with the same part of the rows, whose values are in its cache, and helps the others afterwards.
struct alignas(64) TaskCounter {
  std::atomic<int64_t> next{0};
};

namespace {

SessionOptions check_options(const Graph& graph, SessionOptions options) {
  for (int node : options.keep) {
    if (node < 0 || node >= static_cast<int>(graph.nodes.size())) {
      fail_usage("value {} to be kept, expected one of {}", node, graph.nodes.size());
    }
  }
  if (options.batch < 1) fail_usage("batch is {}, expected at least 1", options.batch);
  if (options.slots < 1) fail_usage("{} slots, expected at least 1", options.slots);
  const int pooled = options.thread_pool == nullptr ? 0 : options.thread_pool->size();
  if (pooled > 0 && options.threads > 0 && options.threads != pooled) {
    fail_usage("a session of {} threads on a thread pool of {}", options.threads, pooled);
  }
  if (options.threads <= 0) options.threads = pooled > 0 ? pooled : default_threads();
  return options;
}

}  // namespace

// Immutable once the first session is made.
struct SessionPlan {
  std::shared_ptr<const PackedModel> model;
  Graph graph;
  SessionOptions options;  // as they came out
  Plan plan;
};

struct Session::Impl {
  std::shared_ptr<const SessionPlan> shared;
  std::vector<Place> places;  // as planned, but for the slot of the first input that runs
  Buffer arena;
  Buffer scratch;
  std::vector<TaskCounter> counters;
  std::optional<Bindings> bindings;
  std::optional<Executor> executor;
  std::vector<std::vector<double>> times;  // [worker][call], when profiling
  int64_t images_run = 0;

  Impl(std::shared_ptr<const PackedModel> packed, Graph g, Program program, SessionOptions o) {
    auto made = std::make_shared<SessionPlan>();
    shared = made;
    SessionOptions& options = made->options;
    options = std::move(o);
    const auto before_memory = std::exchange(options.before_memory, nullptr);
    made->model = std::move(packed);
    made->graph = std::move(g);
    made->plan = make_plan(std::move(program), options.batch, options.threads);
    // Memory first: where it is limited, stacks of threads must not take what the work needs.
    make_room(before_memory);
    if (options.thread_pool == nullptr)
      options.thread_pool = std::make_shared<ThreadPool>(options.threads);
    if (options.thread_pool->size() < options.threads) {
      options.threads = options.thread_pool->size();
      made->plan = make_plan(std::move(made->plan.program), options.batch, options.threads);
      make_room(before_memory);
    }
    bind_plan(made->plan, *made->model);
    prepare();
  }
  Impl(std::shared_ptr<const SessionPlan> plan, const std::function<void(size_t)>& before_memory)
      : shared(std::move(plan)) {
    make_room(before_memory);
    prepare();
  }

  const SessionOptions& options() const { return shared->options; }
  const Plan& plan() const { return shared->plan; }

  // Takes the memory that the plan needs.
  void make_room(const std::function<void(size_t bytes)>& before_memory) {
    arena = Buffer();  // frees the old ones before the new are taken
    scratch = Buffer();
    places = plan().places;
    const auto arena_size = static_cast<size_t>(slot_offset(options().slots));
    const auto scratch_size = static_cast<size_t>(plan().scratch_bytes * options().threads);
    if (before_memory) before_memory(arena_size + scratch_size);
    arena = Buffer(arena_size);
    scratch = Buffer(scratch_size);
    counters =
        std::vector<TaskCounter>(plan().regions.size() * static_cast<size_t>(options().threads));
  }

  void prepare() {
    bindings.emplace(plan().program.values, places, *shared->model, start());
    executor.emplace(plan(), *bindings, options().threads);
    if (options().profile) {
      times.assign(options().threads, std::vector<double>(plan().program.calls.size(), 0.0));
    }
  }

  std::byte* start() { return static_cast<std::byte*>(arena.data()); }
  int first_input() const {
    return shared->graph.inputs.empty() ? -1 : shared->graph.inputs[0].node;
  }
  // Of one image.
  int64_t input_bytes() const {
    return first_input() < 0 ? 0 : plan().program.values[first_input()].bytes();
  }
  // In the arena; slots after the first follow what the plan placed.
  int64_t slot_offset(int slot) const {
    if (slot == 0) return first_input() < 0 ? 0 : plan().places[first_input()].offset;
    return plan().arena_bytes + (slot - 1) * ((options().batch * input_bytes() + 63) / 64 * 64);
  }

  // One worker's part of a run, which is all of it if there is no other.
  void work(int images, int worker, bool alone) {
    const FlushDenormals flush;
    std::byte* const mine = static_cast<std::byte*>(scratch.data()) + plan().scratch_bytes * worker;
    double* const clock = times.empty() ? nullptr : times[worker].data();
    const int workers = options().threads;
    for (size_t r = 0; r < plan().regions.size(); ++r) {
      const Region& region = plan().regions[r];
      const int64_t tasks = executor->tasks(region, images);
      for (int turn = 0; turn < workers; ++turn) {
        const int share = (worker + turn) % workers;
        const int64_t first = tasks * share / workers;
        const int64_t count = tasks * (share + 1) / workers - first;
        std::atomic<int64_t>& next = counters[r * static_cast<size_t>(workers) + share].next;
        while (next.load(std::memory_order_relaxed) < count) {
          const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
          if (task < count) executor->run(region, images, first + task, mine, clock);
        }
      }
      if (!alone) options().thread_pool->barrier();
    }
  }

  void run(int images, int slot, bool alone) {
    if (first_input() >= 0) places[first_input()].offset = slot_offset(slot);
    for (TaskCounter& counter : counters) counter.next.store(0, std::memory_order_relaxed);
    if (alone) {
      work(images, 0, alone);
    } else {
      options().thread_pool->run([&](int worker) { work(images, worker, alone); });
    }
    images_run += images;
  }
};

size_t planned_bytes(const PackedModel& model, const Graph& graph, int threads) {
  const Plan plan = make_plan(lower(graph, {}, model.precision()), 1, threads);
  int64_t tables = 0;  // of positions, which are resized to the image
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<AddPositionOp>(node.op)) {
      tables += node.grid.elements() * kFloatBytes;
    }
  }
  return static_cast<size_t>(plan.arena_bytes + plan.scratch_bytes * threads + tables);
}

Session::Session(std::shared_ptr<const PackedModel> model, Graph graph,
                 const SessionOptions& options) {
  SessionOptions checked = check_options(graph, options);
  Program program = lower(graph, checked.keep, model->precision());
  model->check(graph, program);
  impl_ = std::make_unique<Impl>(std::move(model), std::move(graph), std::move(program),
                                 std::move(checked));
}

Session::Session(Graph graph, std::shared_ptr<const Weights> weights,
                 const SessionOptions& options) {
  SessionOptions checked = check_options(graph, options);
  Program program = lower(graph, checked.keep, checked.precision);
  auto model = PackedModel::make({&graph, 1}, {&program, 1}, std::move(weights), checked.precision);
  impl_ = std::make_unique<Impl>(std::move(model), std::move(graph), std::move(program),
                                 std::move(checked));
}

Session::Session(std::shared_ptr<const SessionPlan> plan,
                 std::function<void(size_t bytes)> before_memory)
    : impl_(std::make_unique<Impl>(std::move(plan), before_memory)) {}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Graph& Session::graph() const { return impl_->shared->graph; }
int Session::batch() const { return impl_->options().batch; }
int Session::threads() const { return impl_->options().threads; }
int Session::slots() const { return impl_->options().slots; }
const std::shared_ptr<const PackedModel>& Session::model() const { return impl_->shared->model; }
const std::shared_ptr<ThreadPool>& Session::thread_pool() const {
  return impl_->options().thread_pool;
}
const std::shared_ptr<const SessionPlan>& Session::plan() const { return impl_->shared; }

float* Session::input(int image, int slot) {
  if (graph().inputs.empty()) fail_usage("the graph has no inputs");
  if (image < 0 || image >= batch() || slot < 0 || slot >= slots()) {
    fail_usage("slot {} of image {} asked for, expected one of {} slots and {} images", slot, image,
               slots(), batch());
  }
  return reinterpret_cast<float*>(impl_->start() + impl_->slot_offset(slot) +
                                  image * impl_->input_bytes());
}

float* Session::input(std::string_view name, int image) {
  const int node = graph().find_input(name);
  if (node < 0) fail_usage("the graph has no input '{}'", name);
  if (node == impl_->first_input()) return input(image);
  return const_cast<float*>(value(node, image));
}

void Session::run(int images, int slot, bool alone) {
  if (images < 1 || images > batch()) {
    fail_usage("{} images for a session of at most {}", images, batch());
  }
  if (slot < 0 || slot >= slots()) {
    fail_usage("slot {} is to run, expected one of {}", slot, slots());
  }
  impl_->run(images, slot, alone);
}

const float* Session::output(std::string_view name, int image) const {
  const int node = graph().find_output(name);
  if (node < 0) fail_usage("the model has no output '{}'", name);
  return value(node, image);
}

const float* Session::value(int node, int image) const {
  if (node < 0 || node >= static_cast<int>(graph().nodes.size()) || image < 0 || image >= batch()) {
    fail_usage("value {} of image {} asked for, expected one of {} values and {} images", node,
               image, graph().nodes.size(), batch());
  }
  const Plan& plan = impl_->plan();
  const Place& place = impl_->places[node];
  if (place.scratch || place.offset < 0 || !plan.program.wanted[node]) {
    fail_usage("value {} of the graph was not kept", node);
  }
  return reinterpret_cast<const float*>(impl_->start() + place.offset +
                                        image * plan.program.values[node].bytes());
}

size_t Session::arena_bytes() const { return impl_->arena.bytes() + impl_->plan().bound_bytes(); }
size_t Session::scratch_bytes() const { return impl_->scratch.bytes(); }

std::vector<ProfileEntry> Session::profile() const {
  std::map<std::string, ProfileEntry> kinds;
  const auto& calls = impl_->plan().program.calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    ProfileEntry& entry = kinds[calls[i]->kind()];
    entry.kind = calls[i]->kind();
    for (const std::vector<double>& worker : impl_->times) entry.seconds += worker[i];
    entry.macs.dense += calls[i]->macs.dense * impl_->images_run;
    entry.macs.scan += calls[i]->macs.scan * impl_->images_run;
  }
  std::vector<ProfileEntry> result;
  for (auto& [kind, entry] : kinds) result.push_back(std::move(entry));
  std::sort(result.begin(), result.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace vig
