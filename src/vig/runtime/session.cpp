#include "vig/runtime/session.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/kernels/denormals.h"
#include "vig/runtime/executor.h"

namespace vig {
namespace {

// Hands out one worker's share of a region's tasks, alone on its cache line. Worker w always begins
// with the same part of the rows, whose values are in its cache, and helps the others afterwards.
struct alignas(64) TaskCounter {
  std::atomic<int64_t> next{0};
};

SessionOptions check_options(const Graph& graph, SessionOptions options) {
  for (int node : options.keep) {
    if (node < 0 || node >= static_cast<int>(graph.nodes.size())) {
      fail_usage("value {} to be kept, expected one of {}", node, graph.nodes.size());
    }
  }
  if (options.batch < 1) fail_usage("batch is {}, expected at least 1", options.batch);
  if (options.slots < 1) fail_usage("{} slots, expected at least 1", options.slots);
  const int team = options.team == nullptr ? 0 : options.team->size();
  if (team > 0 && options.threads > 0 && options.threads != team) {
    fail_usage("a session of {} threads on a team of {}", options.threads, team);
  }
  if (options.threads <= 0) options.threads = team > 0 ? team : default_threads();
  return options;
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<const PackedModel> model;
  Graph graph;
  SessionOptions options;
  Plan plan;
  Buffer arena;
  Buffer scratch;
  std::vector<TaskCounter> counters;
  std::optional<Bindings> bindings;
  std::optional<Executor> executor;
  std::vector<std::vector<double>> times;  // [worker][step], when profiling
  int64_t pictures_run = 0;
  int64_t first_slot = 0;  // its place in the arena; the others follow what the plan placed

  Impl(std::shared_ptr<const PackedModel> packed, Graph g, Program program, SessionOptions o)
      : model(std::move(packed)), graph(std::move(g)), options(std::move(o)) {
    // Memory first: where it is limited, stacks of threads must not take what the work needs.
    make_room(std::move(program));
    if (options.team == nullptr) options.team = std::make_shared<ThreadTeam>(options.threads);
    if (options.team->size() < options.threads) {
      options.threads = options.team->size();
      make_room(std::move(plan.program));
    }
    options.before_memory = nullptr;
    bindings.emplace(plan.program.values, plan.places, *model, arena.floats());
    executor.emplace(plan, *bindings, options.threads);
    for (const auto& step : plan.program.steps) step->bind(*bindings);
    if (options.profile) {
      times.assign(options.threads, std::vector<double>(plan.program.steps.size(), 0.0));
    }
  }

  // Plans for the number of threads, and takes the memory that the plan needs.
  void make_room(Program program) {
    plan = make_plan(std::move(program), options.batch, options.threads);
    arena = Buffer();  // frees the old ones before the new are taken
    scratch = Buffer();
    if (first_input() >= 0) first_slot = plan.places[first_input()].offset;
    const auto arena_size = static_cast<size_t>(slot_offset(options.slots) * sizeof(float));
    const size_t scratch_size =
        static_cast<size_t>(plan.scratch_floats * options.threads) * sizeof(float);
    if (options.before_memory) options.before_memory(arena_size + scratch_size);
    arena = Buffer(arena_size);
    scratch = Buffer(scratch_size);
    counters = std::vector<TaskCounter>(plan.regions.size() * static_cast<size_t>(options.threads));
  }

  int first_input() const { return graph.inputs.empty() ? -1 : graph.inputs[0].node; }
  // Of one picture.
  int64_t input_floats() const {
    return first_input() < 0 ? 0 : plan.program.values[first_input()].elements();
  }
  int64_t slot_offset(int slot) const {
    if (slot == 0) return first_slot;
    return plan.arena_floats + (slot - 1) * ((options.batch * input_floats() + 15) / 16 * 16);
  }

  size_t bound_bytes() const {
    size_t bytes = 0;
    for (const auto& step : plan.program.steps) bytes += step->bound_bytes();
    return bytes;
  }

  // One worker's part of a run, which is all of it if there is no other.
  void work(int images, int worker, bool alone) {
    const FlushDenormals flush;
    float* const mine = scratch.floats() + plan.scratch_floats * worker;
    double* const clock = times.empty() ? nullptr : times[worker].data();
    const int workers = options.threads;
    for (size_t r = 0; r < plan.regions.size(); ++r) {
      const Region& region = plan.regions[r];
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
      if (!alone) options.team->barrier();
    }
  }

  void run(int images, int slot, bool alone) {
    if (first_input() >= 0) plan.places[first_input()].offset = slot_offset(slot);
    for (TaskCounter& counter : counters) counter.next.store(0, std::memory_order_relaxed);
    if (alone) {
      work(images, 0, alone);
    } else {
      options.team->run([&](int worker) { work(images, worker, alone); });
    }
    pictures_run += images;
  }
};

Session::Session(std::shared_ptr<const PackedModel> model, Graph graph,
                 const SessionOptions& options) {
  SessionOptions checked = check_options(graph, options);
  Program program = lower(graph, checked.keep);
  model->check(graph, program);
  impl_ = std::make_unique<Impl>(std::move(model), std::move(graph), std::move(program),
                                 std::move(checked));
}

Session::Session(Graph graph, std::shared_ptr<const Weights> weights,
                 const SessionOptions& options) {
  SessionOptions checked = check_options(graph, options);
  Program program = lower(graph, checked.keep);
  auto model = PackedModel::make({&graph, 1}, {&program, 1}, std::move(weights));
  impl_ = std::make_unique<Impl>(std::move(model), std::move(graph), std::move(program),
                                 std::move(checked));
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Graph& Session::graph() const { return impl_->graph; }
int Session::batch() const { return impl_->options.batch; }
int Session::threads() const { return impl_->options.threads; }
int Session::slots() const { return impl_->options.slots; }
const std::shared_ptr<const PackedModel>& Session::model() const { return impl_->model; }
const std::shared_ptr<ThreadTeam>& Session::team() const { return impl_->options.team; }

float* Session::input(int image, int slot) {
  if (graph().inputs.empty()) fail_usage("the graph has no inputs");
  if (image < 0 || image >= batch() || slot < 0 || slot >= slots()) {
    fail_usage("slot {} of picture {} asked for, expected one of {} slots and {} pictures", slot,
               image, slots(), batch());
  }
  return impl_->arena.floats() + impl_->slot_offset(slot) + image * impl_->input_floats();
}

float* Session::input(std::string_view name, int image) {
  const int node = graph().find_input(name);
  if (node < 0) fail_usage("the graph has no input '{}'", name);
  if (node == impl_->first_input()) return input(image);
  return const_cast<float*>(value(node, image));
}

void Session::run(int images, int slot, bool alone) {
  if (images < 1 || images > batch()) {
    fail_usage("{} pictures for a session of at most {}", images, batch());
  }
  if (slot < 0 || slot >= slots()) {
    fail_usage("slot {} is to run, expected one of {}", slot, slots());
  }
  impl_->run(images, slot, alone);
}

const float* Session::output(std::string_view name, int image) const {
  const int node = impl_->graph.find_output(name);
  if (node < 0) fail_usage("the model has no output '{}'", name);
  return value(node, image);
}

const float* Session::value(int node, int image) const {
  if (node < 0 || node >= static_cast<int>(impl_->graph.nodes.size()) || image < 0 ||
      image >= batch()) {
    fail_usage("value {} of picture {} asked for, expected one of {} values and {} pictures", node,
               image, impl_->graph.nodes.size(), batch());
  }
  const Place& place = impl_->plan.places[node];
  if (place.scratch || place.offset < 0 || !impl_->plan.program.wanted[node]) {
    fail_usage("value {} of the graph was not kept", node);
  }
  return impl_->arena.floats() + place.offset + image * impl_->plan.program.values[node].elements();
}

size_t Session::arena_bytes() const { return impl_->arena.bytes() + impl_->bound_bytes(); }
size_t Session::scratch_bytes() const { return impl_->scratch.bytes(); }

std::vector<ProfileEntry> Session::profile() const {
  std::map<std::string, ProfileEntry> kinds;
  const auto& steps = impl_->plan.program.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    ProfileEntry& entry = kinds[steps[i]->kind()];
    entry.kind = steps[i]->kind();
    for (const std::vector<double>& worker : impl_->times) entry.seconds += worker[i];
    entry.macs.dense += steps[i]->macs.dense * impl_->pictures_run;
    entry.macs.scan += steps[i]->macs.scan * impl_->pictures_run;
  }
  std::vector<ProfileEntry> result;
  for (auto& [kind, entry] : kinds) result.push_back(std::move(entry));
  std::sort(result.begin(), result.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace vig
