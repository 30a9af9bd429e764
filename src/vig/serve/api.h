// The routes of the server: requests to responses. No sockets here.
//
//   POST /v1/classify, /v1/embed, /v1/explain, /v1/segment, /v1/detect
//   GET  /v1/models, /openapi.json, /health, /ready, /metrics, /
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/pipeline/open_model.h"
#include "vig/serve/batch_queue.h"
#include "vig/serve/http_server.h"
#include "vig/serve/metrics.h"

namespace vig {

struct HostedModel {
  std::string name;  // by which clients ask for it
  std::shared_ptr<const OpenModel> model;
};

struct ApiOptions {
  std::string token;         // that clients must show; empty: none
  bool local_hosts = false;  // only requests that name this machine as their host
  size_t most_images = 32;   // of one request
  int max_size = 1024;       // side of an input that clients may ask for
  int64_t max_drawn_pixels = int64_t{32} << 20;  // of all images of a request that are drawn on
  // Of all responses from the moment on when they are begun until they are sent. An eighth is kept
  // for responses of at most 1 MiB.
  uint64_t all_response_bytes = uint64_t{512} << 20;
  // Requests whose images have more pixels leave one worker of the queue to the others. Drawing
  // takes many times as long as decoding, and counts eight times.
  int64_t large_pixels = int64_t{32} << 20;
  DecodeOptions decode;
  BatchQueueOptions queue;
  double wait_seconds = 30;             // what waited longer for a network is refused
  std::function<size_t()> connections;  // open ones, for /metrics
  // Every response: nothing of a request but its route. Called by several threads at a time.
  std::function<void(const std::string& route, int status, double seconds)> log;
};

class Api {
 public:
  // The first model of a task is the one of requests that name none.
  Api(std::vector<HostedModel> models, const ApiOptions& options, ServerMetrics& metrics);
  // Responds to pending requests, then ends.
  ~Api();

  // For HttpHandlers.
  std::optional<HttpResponse> refuse(const HttpRequest& head);
  void handle(HttpRequest request, Respond respond);
  void refused(int status);

  // From now on /ready says that this server ends.
  void begin_stop();
  // Requests that wait for a network get no response; running batches are finished.
  void drop_waiting();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vig
