#include "vig/serve/api.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/base/printable.h"
#include "vig/pipeline/json_text.h"
#include "vig/serve/access.h"
#include "vig/serve/get_routes.h"
#include "vig/serve/http_error.h"
#include "vig/serve/openapi.h"
#include "vig/serve/predict.h"
#include "vig/serve/request_body.h"
#include "vig/serve/response_bytes.h"
#include "vig/serve/task_options.h"

namespace vig {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 6> kGetRoutes = {"/",        "/health",       "/ready",
                                                        "/metrics", "/openapi.json", "/v1/models"};
constexpr std::array<std::string_view, 3> kOpenRoutes = {"/", "/health", "/ready"};

// Under which routes that are not there are counted, so that clients cannot invent many.
constexpr const char* kOtherRoute = "other";

HttpResponse response_to(const HttpError& error) {
  return error_response(error.status(), error.kind(), error.what());
}

// Of PNG files that do not compress, in base64.
uint64_t drawn_bytes(int64_t pixels) { return 4 * static_cast<uint64_t>(pixels); }

HttpResponse no_room() {
  return error_response(503, "too_many_response_bytes",
                        "the pending responses have too many bytes; try again later", 1);
}

HttpResponse no_memory() {
  return error_response(503, "no_memory", "there is not enough memory at the moment", 1);
}

// A request whose body is not read yet.
struct Unread {
  PredictKind kind;
  HttpRequest request;
  Respond respond;
};

// A request that waits for a network.
struct Asked {
  std::unique_ptr<const std::string> body;  // holds the images, and stays where it is
  RequestBody images;
  PredictRequest request;
  const HostedModel* model = nullptr;
  std::shared_ptr<ResponseBytes::Held> held;  // of a response with drawings, which is large
  Clock::time_point since;
  Respond respond;
};

}  // namespace

struct Api::Impl {
  using Batch = std::vector<BatchQueue<Asked>::Entry>;

  Impl(std::vector<HostedModel> hosted, const ApiOptions& api_options, ServerMetrics& counters)
      : models(std::move(hosted)),
        options(api_options),
        metrics(counters),
        responses(api_options.all_response_bytes),
        queue(api_options.queue, [this](Batch& batch) { guarded([&] { run(batch); }); }),
        // Bodies take time to read, which the server's thread does not have. Large ones
        // do not keep the others waiting.
        bodies(body_queue(api_options), [this](auto& batch) { read(batch); }),
        large_bodies(body_queue(api_options), [this](auto& batch) { read(batch); }) {}

  static BatchQueueOptions body_queue(const ApiOptions& options) {
    return {.most_waiting = options.queue.most_waiting, .batch = 1, .wait = {}, .workers = 1};
  }

  // Work that lacks memory even for its response ends its connections.
  template <class F>
  void guarded(const F& work) {
    try {
      work();
    } catch (const std::exception&) {
      metrics.error("no_memory");
    }
  }

  const HostedModel& find(const std::string& name, ModelTask task) const;
  HttpResponse get(const std::string& path) const;
  void note(const std::string& route, int status, double seconds);
  void read(std::vector<BatchQueue<Unread>::Entry>& batch) {
    guarded([&] { accept(batch.front().work); });
  }
  Respond counted(std::string route, Respond respond);
  void refuse(const Respond& respond, const HttpResponse& response, const std::string& kind);
  void accept(Unread& unread);
  void enqueue(Unread& unread);
  int64_t check_pixels(const Asked& asked) const;
  void refuse_late(Batch& batch);
  void run(Batch& batch);
  std::vector<ImageReply> replies(const Batch& batch, HttpResponse& failed) const;
  HttpResponse join(std::span<ImageReply> replies, const std::string& model);
  HttpResponse bounded(HttpResponse response, std::shared_ptr<ResponseBytes::Held> held);

  const std::vector<HostedModel> models;
  const ApiOptions options;
  ServerMetrics& metrics;
  const ResponseBytes responses;
  std::atomic<bool> stopping = false;
  BatchQueue<Asked> queue;    // after the others, which its threads use
  BatchQueue<Unread> bodies;  // last: add to the queue
  BatchQueue<Unread> large_bodies;
};

const HostedModel& Api::Impl::find(const std::string& name, ModelTask task) const {
  for (const HostedModel& one : models) {
    const bool fits = one.model->task() == task;
    if (name.empty() ? fits : one.name == name) {
      if (fits) return one;
      bad_request("model {} is for {}, not for {}", one.name, task_name(one.model->task()),
                  task_name(task));
    }
  }
  throw HttpError(404, "no_such_model",
                  name.empty() ? fmt::format("this server has no model for {}", task_name(task))
                               : fmt::format("there is no model {}", printable(name, 60)));
}

Respond Api::Impl::counted(std::string route, Respond respond) {
  return [this, since = Clock::now(), name = std::move(route),
          done = std::move(respond)](HttpResponse response) {
    const std::chrono::duration<double> seconds = Clock::now() - since;
    note(name, response.status, seconds.count());
    done(std::move(response));
  };
}

void Api::Impl::note(const std::string& route, int status, double seconds) {
  metrics.request(route, status, seconds);
  if (options.log) options.log(route, status, seconds);
}

void Api::Impl::refuse(const Respond& respond, const HttpResponse& response,
                       const std::string& kind) {
  metrics.error(kind);
  respond(response);
}

void Api::Impl::accept(Unread& unread) {
  const Respond respond = unread.respond;
  try {
    enqueue(unread);
  } catch (const HttpError& error) {
    refuse(respond, response_to(error), error.kind());
  } catch (const std::bad_alloc&) {
    refuse(respond, no_memory(), "no_memory");
  }
}

// How many there are, after the limits of drawing.
int64_t Api::Impl::check_pixels(const Asked& asked) const {
  const int64_t pixels = pixels_of(asked.images.images, options.decode);
  if (!asked.request.draw) return pixels;
  if (pixels > options.max_drawn_pixels) {
    throw HttpError(413, "too_many_pixels",
                    fmt::format("the images to draw on have {} pixels, expected at most {} in a "
                                "request (--max-drawn-pixels); ask without draw, or for fewer "
                                "images at a time",
                                pixels, options.max_drawn_pixels));
  }
  if (drawn_bytes(pixels) > responses.most_of_one()) {
    throw HttpError(413, "too_many_pixels",
                    fmt::format("the images to draw on have {} pixels and may become {} bytes, "
                                "expected at most {} in a response (--max-responses)",
                                pixels, drawn_bytes(pixels), responses.most_of_one()));
  }
  return pixels;
}

void Api::Impl::enqueue(Unread& unread) {
  BatchQueue<Asked>::Entry entry;
  Asked& asked = entry.work;
  asked.since = Clock::now();
  asked.body = std::make_unique<const std::string>(std::move(unread.request.body));
  asked.images = read_request_body(unread.request.content_type, *asked.body, options.most_images);
  GivenOptions given = merged_options(read_query(unread.request.query), asked.images.options);
  if (asked.images.images.empty()) bad_request("the request has no image");
  asked.model = &find(take_option(given, "model"), task_of(unread.kind));
  asked.request =
      read_predict_request(unread.kind, std::move(given), *asked.model->model, options.max_size);
  asked.respond = unread.respond;
  entry.images = asked.images.images.size();
  // Responses grow with the input, whose size a request names.
  const int64_t pixels = std::max(1, asked.request.size) * int64_t{std::max(1, asked.request.size)};
  constexpr int64_t kMostPixels = int64_t{8} << 20;  // of all inputs
  if (const int64_t most = std::max<int64_t>(1, kMostPixels / pixels);
      static_cast<int64_t>(entry.images) > most) {
    throw HttpError(
        413, "too_many_images",
        fmt::format("more than {} images at size {} (a fixed limit)", most, asked.request.size));
  }
  const int64_t image_pixels = check_pixels(asked);
  constexpr int64_t kDrawing = 8;  // times as long as decoding
  entry.large = image_pixels * (asked.request.draw ? kDrawing : 1) > options.large_pixels;
  entry.key = fmt::format("{}|{}|{}", entry.large, asked.model->name, key_of(asked.request));
  if (asked.request.draw) {
    asked.held = responses.hold(drawn_bytes(image_pixels));
    if (!asked.held) return refuse(unread.respond, no_room(), "too_many_response_bytes");
  }
  if (queue.add(entry)) return;
  refuse(unread.respond,
         error_response(503, "queue_full",
                        "too many images wait (raise the limit with --queue); try again later", 1),
         "queue_full");
}

void Api::Impl::refuse_late(Batch& batch) {
  const std::chrono::duration<double> most(options.wait_seconds);
  std::erase_if(batch, [&](const BatchQueue<Asked>::Entry& entry) {
    if (Clock::now() - entry.work.since <= most) return false;
    refuse(entry.work.respond,
           error_response(503, "waited_too_long",
                          "the images waited too long (raise the limit with --request-seconds)", 1),
           "waited_too_long");
    return true;
  });
}

std::vector<ImageReply> Api::Impl::replies(const Batch& batch, HttpResponse& failed) const {
  try {
    std::vector<SentImage> images;
    for (const auto& entry : batch) {
      const auto& own = entry.work.images.images;
      images.insert(images.end(), own.begin(), own.end());
    }
    metrics.batch(images.size());
    const Asked& first = batch.front().work;
    return predict_images(*first.model->model, first.request, images, options.decode);
  } catch (const Error& error) {
    const bool usage = error.code() == ErrorCode::kUsage;
    failed = error_response(usage ? 400 : 422, usage ? "bad_request" : "no_result", error.what());
    metrics.error(usage ? "bad_request" : "no_result");
  } catch (const std::bad_alloc&) {
    failed = no_memory();
    metrics.error("no_memory");
  } catch (const std::exception& error) {
    failed = error_response(500, "internal", error.what());
    metrics.error("internal");
  }
  return {};
}

HttpResponse Api::Impl::join(std::span<ImageReply> replies, const std::string& model) {
  HttpResponse response;
  if (std::ranges::none_of(replies, &ImageReply::good)) {
    metrics.error("bad_image");
    response.status = 422;
  }
  response.body = fmt::format("{{\"model\":{},\"results\":[", json_text(model));
  size_t bytes = response.body.size() + 3;
  for (const ImageReply& one : replies) bytes += one.json.size() + 1;
  response.body.reserve(bytes);
  for (size_t i = 0; i < replies.size(); ++i) {
    if (i > 0) response.body += ',';
    response.body += replies[i].json;
    replies[i].json = {};  // may be large
  }
  response.body += "]}\n";
  return response;
}

// The response with its bytes counted, or why it cannot be sent. `held`: those it had before.
HttpResponse Api::Impl::bounded(HttpResponse response, std::shared_ptr<ResponseBytes::Held> held) {
  const uint64_t bytes = response.body.size();
  if (bytes > responses.most_of_one()) {
    metrics.error("response_too_large");
    return error_response(413, "response_too_large",
                          fmt::format("the response has {} bytes, expected at most {} "
                                      "(--max-responses); ask for fewer images at a time",
                                      bytes, responses.most_of_one()));
  }
  if (held ? !held->set(bytes) : !(held = responses.hold(bytes))) {
    metrics.error("too_many_response_bytes");
    return no_room();
  }
  response.held = std::move(held);
  return response;
}

void Api::Impl::run(Batch& batch) {
  refuse_late(batch);
  if (batch.empty()) return;
  HttpResponse failed;
  std::vector<ImageReply> found = replies(batch, failed);
  size_t next = 0;
  for (auto& entry : batch) {
    if (found.empty()) {
      entry.work.respond(failed);
    } else {
      const auto own = std::span(found).subspan(next, entry.images);
      entry.work.respond(bounded(join(own, entry.work.model->name), std::move(entry.work.held)));
    }
    next += entry.images;
  }
}

HttpResponse Api::Impl::get(const std::string& path) const {
  HttpResponse response;
  if (path == "/ready" && (stopping || queue.full())) {
    return error_response(
        503, stopping ? "stopping" : "queue_full",
        stopping ? "this server ends" : "too many images wait (raise the limit with --queue)", 1);
  }
  if (path == "/health" || path == "/ready") {
    response.body = "{\"status\":\"ok\"}\n";
  } else if (path == "/v1/models") {
    response.body = model_list(models, options.max_size);
  } else if (path == "/openapi.json") {
    response.body = openapi_text(options.max_size);
  } else if (path == "/metrics") {
    response.content_type = "text/plain; version=0.0.4";
    response.body = metrics.text(
        {queue.waiting(), options.connections ? options.connections() : 0, process_memory()});
  } else {
    response = page_response();
  }
  return response;
}

Api::Api(std::vector<HostedModel> models, const ApiOptions& options, ServerMetrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(models), options, metrics)) {}
Api::~Api() = default;

std::optional<HttpResponse> Api::refuse(const HttpRequest& head) {
  const bool task = kind_of_route(head.path).has_value();
  const bool get = std::ranges::find(kGetRoutes, head.path) != kGetRoutes.end();
  const bool open = std::ranges::find(kOpenRoutes, head.path) != kOpenRoutes.end();
  const auto refused = [&](int status, const char* kind, const std::string& sentence) {
    impl_->metrics.error(kind);
    const std::string route = task || get ? head.path : kOtherRoute;
    impl_->note(route, status, 0);
    return error_response(status, kind, sentence);
  };
  if (impl_->options.local_hosts && !names_this_machine(head.host)) {
    return refused(403, "wrong_host", "expected the address of this machine as the host");
  }
  if (impl_->options.local_hosts && !is_of_this_machine(head.origin)) {
    return refused(403, "wrong_origin", "expected a page of this machine, or no page");
  }
  const std::string& token = impl_->options.token;
  if (!open && !token.empty() && !shows_token(head.authorization, token)) {
    return refused(401, "unauthorized", "expected the header Authorization: Bearer and the token");
  }
  if (!task && !get) {
    return refused(404, "no_such_route", fmt::format("there is no {}", printable(head.path, 100)));
  }
  if (head.method != (task ? "POST" : "GET")) {
    HttpResponse response = refused(
        405, "wrong_method", task ? "this route takes POST with an image" : "this route takes GET");
    response.allow = task ? "POST" : "GET, HEAD";
    return response;
  }
  return std::nullopt;
}

void Api::handle(HttpRequest request, Respond respond) {
  if (auto refusal = refuse(request)) return respond(std::move(*refusal));
  Respond done = impl_->counted(request.path, std::move(respond));
  const std::optional<PredictKind> kind = kind_of_route(request.path);
  if (!kind) return done(impl_->get(request.path));
  BatchQueue<Unread>::Entry entry{"", 1, {*kind, std::move(request), std::move(done)}};
  constexpr size_t kLarge = size_t{1} << 20;
  const bool large = entry.work.request.body.size() > kLarge;
  if ((large ? impl_->large_bodies : impl_->bodies).add(entry)) return;
  impl_->refuse(
      entry.work.respond,
      error_response(503, "queue_full",
                     "too many requests wait (raise the limit with --queue); try again later", 1),
      "queue_full");
}

void Api::refused(int status) { impl_->note(kOtherRoute, status, 0); }

void Api::begin_stop() { impl_->stopping = true; }

void Api::drop_waiting() {
  impl_->bodies.drop();
  impl_->large_bodies.drop();
  impl_->queue.drop();
}

}  // namespace vig
