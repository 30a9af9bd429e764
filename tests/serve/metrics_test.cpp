// What /metrics says, line by line.
#include "vig/serve/metrics.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace vig {
namespace {

// The lines of a metric, without its heading.
std::string lines_of(const ServerMetrics& metrics, const std::string& name) {
  std::istringstream lines(metrics.text({}));
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) found += line + "\n";
  }
  return found;
}

// A bucket counts the values up to its bound, the bound included.
TEST(ServerMetrics, BatchesAreCountedUpToEachBound) {
  ServerMetrics metrics;
  EXPECT_EQ(lines_of(metrics, "vig_batch_images"), "");
  for (const size_t images : {2, 3, 64, 65}) metrics.batch(images);
  EXPECT_EQ(lines_of(metrics, "vig_batch_images"),
            "vig_batch_images_bucket{le=\"1\"} 0\n"
            "vig_batch_images_bucket{le=\"2\"} 1\n"
            "vig_batch_images_bucket{le=\"4\"} 2\n"
            "vig_batch_images_bucket{le=\"8\"} 2\n"
            "vig_batch_images_bucket{le=\"16\"} 2\n"
            "vig_batch_images_bucket{le=\"32\"} 2\n"
            "vig_batch_images_bucket{le=\"64\"} 3\n"
            "vig_batch_images_bucket{le=\"+Inf\"} 4\n"
            "vig_batch_images_sum{} 134\n"
            "vig_batch_images_count{} 4\n");
}

TEST(ServerMetrics, LatenciesAreCountedByRoute) {
  ServerMetrics metrics;
  metrics.request("/a", 200, 0.25);
  metrics.request("/a", 400, 0.5);
  metrics.request("/b", 200, 1);
  EXPECT_EQ(lines_of(metrics, "vig_requests_total"),
            "vig_requests_total{route=\"/a\",status=\"200\"} 1\n"
            "vig_requests_total{route=\"/a\",status=\"400\"} 1\n"
            "vig_requests_total{route=\"/b\",status=\"200\"} 1\n");
  const std::string start = "vig_request_seconds_";
  EXPECT_EQ(lines_of(metrics, start + "sum"),
            start + "sum{route=\"/a\"} 0.75\n" + start + "sum{route=\"/b\"} 1\n");
  const std::string bucket = start + "bucket{route=\"/a\",le=\"";
  EXPECT_EQ(lines_of(metrics, bucket + "0.1\""), bucket + "0.1\"} 0\n");
  EXPECT_EQ(lines_of(metrics, bucket + "0.25\""), bucket + "0.25\"} 1\n");
  EXPECT_EQ(lines_of(metrics, bucket + "0.5\""), bucket + "0.5\"} 2\n");
  EXPECT_EQ(lines_of(metrics, bucket + "+Inf\""), bucket + "+Inf\"} 2\n");
}

TEST(ServerMetrics, GaugesAreThoseOfTheMoment) {
  ServerMetrics metrics;
  metrics.error("a");
  metrics.error("b");
  metrics.error("a");
  const std::string text =
      metrics.text({.queue = 3, .connections = 5, .memory_bytes = uint64_t{1} << 40});
  for (const char* lines : {"# TYPE vig_queue_images gauge\nvig_queue_images 3\n",
                            "# TYPE vig_connections gauge\nvig_connections 5\n",
                            "# TYPE vig_memory_bytes gauge\nvig_memory_bytes 1099511627776\n",
                            "# TYPE vig_errors_total counter\nvig_errors_total{kind=\"a\"} 2\n"
                            "vig_errors_total{kind=\"b\"} 1\n"}) {
    EXPECT_NE(text.find(lines), std::string::npos) << lines << text;
  }
}

}  // namespace
}  // namespace vig
