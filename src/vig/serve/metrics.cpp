#include "vig/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace vig {
namespace {

constexpr std::array kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 30.0};
constexpr std::array kBatches = {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0};

void heading(std::string& text, const char* name, const char* type, const char* help) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

}  // namespace

void ServerMetrics::Histogram::add(double value, std::span<const double> bounds) {
  counts.resize(bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) counts[i] += value <= bounds[i] ? 1 : 0;
  ++all;
  sum += value;
}

void ServerMetrics::request(std::string_view route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(route), status}];
  latencies_[std::string(route)].add(seconds, kSeconds);
}

void ServerMetrics::error(std::string_view kind) {
  const std::lock_guard lock(mutex_);
  ++errors_[std::string(kind)];
}

void ServerMetrics::batch(size_t images) {
  const std::lock_guard lock(mutex_);
  batches_.add(static_cast<double>(images), kBatches);
}

std::string ServerMetrics::text(const Gauges& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto out = std::back_inserter(text);
  const auto histogram = [&](const char* name, const std::string& label, const Histogram& values,
                             std::span<const double> bounds) {
    const std::string comma = label.empty() ? "" : ",";
    for (size_t i = 0; i < values.counts.size(); ++i) {
      fmt::format_to(out, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, label, comma, bounds[i],
                     values.counts[i]);
    }
    fmt::format_to(
        out, "{0}_bucket{{{1}{2}le=\"+Inf\"}} {3}\n{0}_sum{{{1}}} {4}\n{0}_count{{{1}}} {3}\n",
        name, label, comma, values.all, values.sum);
  };
  heading(text, "vig_requests_total", "counter", "Responses sent, by route and HTTP status.");
  for (const auto& [key, count] : requests_) {
    fmt::format_to(out, "vig_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                   key.second, count);
  }
  heading(text, "vig_errors_total", "counter", "Requests and connections refused, by kind.");
  for (const auto& [kind, count] : errors_) {
    fmt::format_to(out, "vig_errors_total{{kind=\"{}\"}} {}\n", kind, count);
  }
  heading(text, "vig_request_seconds", "histogram", "Time from the whole request to its response.");
  for (const auto& [route, values] : latencies_) {
    histogram("vig_request_seconds", fmt::format("route=\"{}\"", route), values, kSeconds);
  }
  heading(text, "vig_batch_images", "histogram", "Images that went through a network together.");
  if (batches_.all > 0) histogram("vig_batch_images", "", batches_, kBatches);
  heading(text, "vig_queue_images", "gauge", "Images that wait for a network.");
  fmt::format_to(out, "vig_queue_images {}\n", gauges.queue);
  heading(text, "vig_connections", "gauge", "Open connections.");
  fmt::format_to(out, "vig_connections {}\n", gauges.connections);
  heading(text, "vig_memory_bytes", "gauge", "Resident memory of the process.");
  fmt::format_to(out, "vig_memory_bytes {}\n", gauges.memory_bytes);
  return text;
}

}  // namespace vig
