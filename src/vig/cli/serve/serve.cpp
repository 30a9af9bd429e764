#include "vig/cli/serve/serve.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/printable.h"
#include "vig/base/processors.h"
#include "vig/base/thread_pool.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/pipeline/json_text.h"
#include "vig/serve/api.h"

namespace vig::cli {
namespace {

struct ServeOptions {
  std::vector<std::string> models;  // FILE or NAME=FILE
  HttpOptions http;
  bool open = false;
  int threads = 0;
  int batch = 0;                        // 0: by the size of the input
  std::vector<std::string> precisions;  // TYPE, or NAME=TYPE of one model
  std::vector<std::string> float_layers;
  double wait_ms = 2;
  size_t queue = 256;
  size_t images = 32;
  int max_size = 1024;
  int64_t max_pixels = DecodeOptions().max_pixels;
  int64_t max_drawn_pixels = ApiOptions().max_drawn_pixels;
  uint64_t max_responses = ApiOptions().all_response_bytes;
  double lame_duck_seconds = 0;
  double memory_gb = 0;  // of sessions; 0: a quarter of the machine's
  std::string log = "lines";
};

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// The token that clients must show.
std::string chosen_token(const ServeOptions& options) {
  const char* const given = std::getenv("VIG_TOKEN");
  const std::string token = given == nullptr ? "" : given;
  if (token.empty() && !options.open && !is_loopback(options.http.address)) {
    fail_usage(
        "--listen {} is not a loopback address: set VIG_TOKEN to a secret for clients, or give "
        "--open",
        options.http.address);
  }
  return token;
}

// "pets=model.safetensors", or a file whose name is the model's.
std::pair<std::string, std::string> name_and_file(const std::string& text) {
  const size_t equal = text.find('=');
  if (equal != std::string::npos && equal > 0 && text.find('/') > equal) {
    return {text.substr(0, equal), text.substr(equal + 1)};
  }
  return {std::filesystem::path(text).stem().string(), text};
}

// By the names of models; "" of those that are not named.
std::map<std::string, Precision> named_precisions(const ServeOptions& options) {
  std::map<std::string, Precision> named = {{"", {}}};
  for (const std::string& text : options.precisions) {
    const size_t equal = text.find('=');
    const bool one = equal != std::string::npos;
    const Arithmetic arithmetic = arithmetic_from_name(one ? text.substr(equal + 1) : text);
    Precision& precision = named[one ? text.substr(0, equal) : ""];
    precision = {arithmetic, {}};
    if (arithmetic == Arithmetic::kInt8) precision.float_layers = options.float_layers;
  }
  return named;
}

std::vector<HostedModel> open_models(const ServeOptions& options) {
  std::vector<std::string> models = options.models;
  if (models.empty()) models = {"default", "segment", "detect"};  // those that come with vig
  RunOptions run;
  run.batch = options.batch;
  const uint64_t bytes = options.memory_gb > 0 ? static_cast<uint64_t>(options.memory_gb * 1e9)
                                               : physical_memory() / 4;
  run.activation_bytes = bytes / models.size();
  run.thread_pool = std::make_shared<ThreadPool>(options.threads);
  std::vector<HostedModel> hosted;
  std::set<std::string> names;
  std::map<std::string, Precision> precisions = named_precisions(options);
  for (const std::string& text : models) {
    const auto [name, file] = name_and_file(text.empty() ? "default" : text);
    if (!names.insert(name).second) {
      fail_usage("two models are called {}: give one another name by -m NAME=FILE",
                 printable(name, 60));
    }
    ModelRequest request;
    request.model = file;
    ModelSource source = find_source(request);
    run.precision = precisions.contains(name) ? precisions.at(name) : precisions.at("");
    source.name = name;  // in messages to clients, which must not learn of files of this machine
    hosted.push_back({name, std::make_shared<const OpenModel>(std::move(source), run)});
  }
  for (const auto& [name, precision] : precisions) {
    if (name.empty() || names.contains(name)) continue;
    fail_usage("--precision {}: no model is called so", printable(name, 60));
  }
  return hosted;
}

// Lines on standard error. Logging never blocks: if a pipe is full or a terminal held, lines are
// dropped, and counted in the next line.
class LogLines {
 public:
  explicit LogLines(bool json) : json_(json) {}

  void write(std::string line) {
    const std::lock_guard lock(mutex_);
    pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&error, 1, 0) != 1 || (error.revents & POLLOUT) == 0) {
      ++lost_;
      return;
    }
    if (lost_ > 0) {
      line.insert(0, json_ ? json_text({{"lost", lost_}}) + "\n"
                           : fmt::format("{} lines were dropped\n", lost_));
      lost_ = 0;
    }
    // A pipe that is ready takes PIPE_BUF bytes at once, which is more than a line has.
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // the reader is gone
  }

 private:
  const bool json_;
  std::mutex mutex_;
  uint64_t lost_ = 0;
};

// A line for every response.
std::function<void(const std::string&, int, double)> make_log(const std::string& form) {
  if (form == "none") return nullptr;
  const bool json = form == "json";
  return [json, lines = std::make_shared<LogLines>(json)](const std::string& route, int status,
                                                          double seconds) {
    // Milliseconds apart: versions of fmt differ in whether %T has them.
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    const std::string time = fmt::format("{:%FT%T}.{:03}Z", second, (now - second).count());
    if (!json) {
      return lines->write(fmt::format("{} {} {} {:.1f} ms\n", time, status, route, 1000 * seconds));
    }
    const Json entry = {{"time", time}, {"route", route}, {"status", status}, {"seconds", seconds}};
    lines->write(json_text(entry) + "\n");
  };
}

// Ctrl-C and SIGTERM end the server: no new connections, then what was accepted. They are blocked
// in all threads and waited for in one, which may then call anything.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Calls `announce` for the first signal and `stop` so many seconds later, or for the second one,
  // until end().
  void watch(std::function<void()> announce, double seconds, std::function<void()> stop) {
    thread_ = std::jthread([=, this] {
      int number = 0;
      if (sigwait(&set_, &number) != 0 || number == SIGUSR2) return;
      announce();
      if (wait_for_next(seconds) != SIGUSR2) stop();
    });
  }
  void end() {
    if (!thread_.joinable()) return;
    pthread_kill(thread_.native_handle(), SIGUSR2);
    thread_.join();
  }
  ~StopSignals() { end(); }

 private:
  // The number of the next signal; 0: none came in this time.
  int wait_for_next(double seconds) const {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::nanoseconds>(end - Clock::now()).count();
      if (left <= 0) return 0;
      const timespec time = {left / 1'000'000'000, left % 1'000'000'000};
      const int number = sigtimedwait(&set_, nullptr, &time);
      if (number > 0 || errno != EINTR) return std::max(number, 0);
    }
  }

  sigset_t set_{};
  std::jthread thread_;
};

// As many connections as allowed need descriptors, of which a process often may have 1024 at first.
void allow_descriptors(size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, connections + 256));
  setrlimit(RLIMIT_NOFILE, &limit);
}

ApiOptions api_options_of(const ServeOptions& options) {
  ApiOptions api_options;
  api_options.token = chosen_token(options);
  api_options.local_hosts = api_options.token.empty() && !options.open;
  api_options.most_images = std::min(options.images, options.queue);
  api_options.max_size = options.max_size;
  api_options.decode.max_pixels = options.max_pixels;
  api_options.max_drawn_pixels = options.max_drawn_pixels;
  api_options.all_response_bytes = options.max_responses;
  if (options.batch > 0) api_options.queue.batch = static_cast<size_t>(options.batch);
  // One batch on all threads, or one on each; at least one is decoded while another runs.
  api_options.queue.workers = std::max(2, options.threads);
  api_options.queue.most_waiting = options.queue;
  api_options.queue.wait = std::chrono::microseconds(static_cast<int64_t>(options.wait_ms * 1000));
  api_options.wait_seconds = options.http.request_seconds;
  api_options.log = make_log(options.log);
  return api_options;
}

int serve(ServeOptions options) {
  if (options.threads == 0) options.threads = default_threads();
  ApiOptions api_options = api_options_of(options);
  allow_descriptors(options.http.connections);
  StopSignals signals;  // before the first thread
  ServerMetrics metrics;
  // The address is checked before the models are read, which may take long.
  std::unique_ptr<Api> api;
  HttpHandlers handlers;
  handlers.refuse = [&api](const HttpRequest& head) { return api->refuse(head); };
  handlers.handle = [&api](HttpRequest request, Respond respond) {
    api->handle(std::move(request), std::move(respond));
  };
  handlers.refused = [&api](int status) { api->refused(status); };
  HttpServer server(options.http, std::move(handlers), metrics);
  api_options.connections = [&server] { return server.connections(); };
  api = std::make_unique<Api>(open_models(options), api_options, metrics);
  const bool six = options.http.address.find(':') != std::string::npos;
  print(fmt::format("vig serves http://{0}{1}{2}:{3}/ and stops at Ctrl-C\n", six ? "[" : "",
                    options.http.address, six ? "]" : "", server.port()));
  flush_output();
  signals.watch(
      [&] {
        api->begin_stop();
        server.end_connections();
      },
      options.lame_duck_seconds, [&] { server.stop(); });
  server.run();
  api->drop_waiting();
  signals.end();
  api.reset();  // before the server, whose connections it may still hold
  return 0;
}

}  // namespace

void add_serve(CommandLine& line) {
  auto options = std::make_shared<ServeOptions>();
  Command& command =
      line.add_command("serve", "Serve models over HTTP, with a web page to try them");
  command
      .option(
          "-m,--model", options->models,
          "Weight file, a model that comes with vig (default, segment or detect), or NAME=FILE; "
          "may be repeated (default: the three models that come with vig)")
      .value("FILE");
  command.option("--listen", options->http.address, "Address to listen on")
      .show_default()
      .value("ADDRESS");
  command.option("--port", options->http.port, "Port; 0: any free port").show_default().value("N");
  command.flag("--open", options->open, "Allow a non-loopback address without a token");
  add_threads(command, options->threads);
  command
      .option(
          "--precision", options->precisions,
          "Precision of the dense layers: float32 (the default) or int8 for all models, NAME=TYPE "
          "for one; may be repeated")
      .value("TYPE")
      .one_each();
  add_float_layers(command, options->float_layers);
  const auto add = [&](const char* name, auto& value, const char* text, auto least, auto most,
                       const char* unit) {
    command.option(name, value, text).range(least, most).show_default().value(unit);
  };
  command
      .option("--batch", options->batch,
              "Maximum batch size (default: 8 at 224 x 224, smaller for larger inputs)")
      .range(1, 4096)
      .value("N");
  add("--wait", options->wait_ms, "Maximum batching delay in milliseconds", 0.0, 1000.0, "MS");
  add("--queue", options->queue, "Maximum images in the queue; further requests get 503", size_t{1},
      size_t{1} << 20, "N");
  add("--images", options->images, "Maximum images per request", size_t{1}, size_t{4096}, "N");
  add("--max-body", options->http.body_bytes, "Maximum bytes of a request body", uint64_t{1},
      uint64_t{1} << 32, "BYTES");
  add("--max-size", options->max_size, "Largest input size that a client may request", 1,
      kMaxInputSide, "N");
  add("--max-bodies", options->http.all_body_bytes,
      "Maximum bytes of all request bodies in progress", uint64_t{1}, uint64_t{1} << 40, "BYTES");
  add("--max-pixels", options->max_pixels, "Reject images with more pixels than this", int64_t{1},
      int64_t{1} << 40, "N");
  add("--max-drawn-pixels", options->max_drawn_pixels,
      "Maximum pixels of all images of a request with draw=true", int64_t{1}, int64_t{1} << 40,
      "N");
  add("--max-responses", options->max_responses,
      "Maximum bytes of all responses in progress; further requests get 503", uint64_t{8} << 20,
      uint64_t{1} << 40, "BYTES");
  add("--max-connections", options->http.connections, "Maximum open connections", size_t{1},
      size_t{1} << 20, "N");
  add("--request-seconds", options->http.request_seconds,
      "Seconds for a client to send a request, and to receive its response", 0.01, 3600.0, "S");
  add("--idle-seconds", options->http.idle_seconds,
      "Seconds until the next request on a connection", 0.01, 86400.0, "S");
  add("--lame-duck-seconds", options->lame_duck_seconds,
      "Seconds to accept requests after a stop signal while /ready says 503", 0.0, 3600.0, "S");
  add("--drain-seconds", options->http.drain_seconds,
      "Seconds to finish accepted requests after that", 0.0, 3600.0, "S");
  add("--memory", options->memory_gb,
      "Memory for sessions of several input sizes; 0: a quarter of the machine's", 0.0, 1e6, "GB");
  command.option("--log", options->log, "Log on standard error: lines, json or none")
      .one_of({"lines", "json", "none"})
      .show_default()
      .value("FORM");
  command.footer =
      "Clients POST an image to /v1/classify, /v1/embed, /v1/explain, /v1/segment or /v1/detect.\n"
      "/openapi.json describes the interface; / is a web page. If VIG_TOKEN is set, clients must "
      "send\n"
      "the header \"Authorization: Bearer TOKEN\".";
  command.run = [options] { return serve(*options); };
}

}  // namespace vig::cli
