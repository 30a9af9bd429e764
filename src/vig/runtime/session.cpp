#include "vig/runtime/session.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "vig/base/error.h"
#include "vig/base/thread_team.h"
#include "vig/kernels/denormals.h"
#include "vig/runtime/executor.h"

namespace vig {
namespace {

// Hands out one worker's share of a region's tasks, alone on its cache line. Worker w always begins
// with the same part of the rows, whose values are in its cache, and helps the others afterwards.
struct alignas(64) TaskCounter {
  std::atomic<int64_t> next{0};
};

}  // namespace

struct Session::Impl {
  std::shared_ptr<const PackedModel> model;
  Graph graph;
  SessionOptions options;
  Plan plan;
  Buffer arena;
  Buffer scratch;
  std::vector<TaskCounter> counters;
  std::optional<ThreadTeam> team;
  std::optional<Bindings> bindings;
  std::optional<Executor> executor;
  std::vector<std::vector<double>> times;  // [worker][step], when profiling
  int64_t pictures_run = 0;

  Impl(std::shared_ptr<const PackedModel> packed, Graph g, const SessionOptions& o)
      : model(std::move(packed)), graph(std::move(g)), options(o) {
    // Memory first: where it is limited, stacks of threads must not take what the work needs.
    make_room();
    team.emplace(options.threads);
    if (team->size() < options.threads) {
      options.threads = team->size();
      make_room();
    }
    bindings.emplace(plan.program.values, plan.places, *model, arena.floats());
    executor.emplace(plan, *bindings, options.threads);
    for (const auto& step : plan.program.steps) step->bind(*bindings);
    if (options.profile) {
      times.assign(options.threads, std::vector<double>(plan.program.steps.size(), 0.0));
    }
  }

  // Plans for the number of threads, and takes the memory that the plan needs.
  void make_room() {
    Program program = lower(graph, options.keep);
    model->check(graph, program);
    plan = make_plan(std::move(program), options.batch, options.threads);
    arena = Buffer();  // frees the old ones before the new are taken
    scratch = Buffer();
    arena = Buffer(static_cast<size_t>(plan.arena_floats) * sizeof(float));
    scratch = Buffer(static_cast<size_t>(plan.scratch_floats * options.threads) * sizeof(float));
    counters = std::vector<TaskCounter>(plan.regions.size() * static_cast<size_t>(options.threads));
  }

  size_t bound_bytes() const {
    size_t bytes = 0;
    for (const auto& step : plan.program.steps) bytes += step->bound_bytes();
    return bytes;
  }

  // One worker's part of a run.
  void work(int images, int worker) {
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
      team->barrier();
    }
  }

  void run(int images) {
    for (TaskCounter& counter : counters) counter.next.store(0, std::memory_order_relaxed);
    team->run([&](int worker) { work(images, worker); });
    pictures_run += images;
  }
};

Session::Session(std::shared_ptr<const PackedModel> model, Graph graph,
                 const SessionOptions& options) {
  SessionOptions checked = options;
  if (checked.threads <= 0) checked.threads = default_threads();
  for (int node : checked.keep) {
    if (node < 0 || node >= static_cast<int>(graph.nodes.size())) {
      fail_usage("value {} to be kept, expected one of {}", node, graph.nodes.size());
    }
  }
  if (checked.batch < 1) fail_usage("batch is {}, expected at least 1", checked.batch);
  impl_ = std::make_unique<Impl>(std::move(model), std::move(graph), checked);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Graph& Session::graph() const { return impl_->graph; }
int Session::batch() const { return impl_->options.batch; }
int Session::threads() const { return impl_->options.threads; }

float* Session::input(int image) {
  if (graph().inputs.empty()) fail_usage("the graph has no inputs");
  return const_cast<float*>(value(graph().inputs[0].node, image));
}

float* Session::input(std::string_view name, int image) {
  const int node = graph().find_input(name);
  if (node < 0) fail_usage("the graph has no input '{}'", name);
  return const_cast<float*>(value(node, image));
}

void Session::run(int images) {
  if (images < 1 || images > batch()) {
    fail_usage("{} pictures for a session of at most {}", images, batch());
  }
  impl_->run(images);
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

int default_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace vig
