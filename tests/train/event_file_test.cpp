// Event files: read back by a reader of their own, they say what metrics.csv says.
#include "vig/train/event_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "support/errors.h"
#include "train/fixtures.h"
#include "vig/train/tasks/classification.h"

namespace vig::test {
namespace {

using train::MetricsRow;
using train::TrainOptions;

// Bit by bit.
uint32_t slow_crc(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t lowest = (crc ^ static_cast<uint32_t>(static_cast<uint8_t>(byte) >> bit)) & 1;
      crc >>= 1;
      if (lowest != 0) crc ^= 0x82f63b78;
    }
  }
  return ~crc;
}

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> values;
};

// Takes integers and fields from the front of some bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  std::string_view take(size_t count) {
    if (count > rest_.size()) throw std::runtime_error("the file is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(size_t bytes) {
    uint64_t value = 0;
    size_t shift = 0;
    for (const char byte : take(bytes)) {
      value |= uint64_t{static_cast<uint8_t>(byte)} << shift;
      shift += 8;
    }
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view text() { return take(varint()); }

 private:
  std::string_view rest_;
};

Event read_event(std::string_view data) {
  Event event;
  for (Reader fields(data); !fields.done();) {
    switch (const uint64_t key = fields.varint()) {
      case 1 << 3 | 1:
        event.wall_time = std::bit_cast<double>(fields.fixed(8));
        break;
      case 2 << 3:
        event.step = static_cast<int64_t>(fields.varint());
        break;
      case 3 << 3 | 2:
        event.version = fields.text();
        break;
      case 5 << 3 | 2:
        for (Reader summary(fields.text()); !summary.done();) {
          EXPECT_EQ(summary.varint(), 1u << 3 | 2);
          Reader value(summary.text());
          EXPECT_EQ(value.varint(), 1u << 3 | 2);
          const std::string tag(value.text());
          EXPECT_EQ(value.varint(), 2u << 3 | 5);
          const auto number = std::bit_cast<float>(static_cast<uint32_t>(value.fixed(4)));
          EXPECT_TRUE(value.done());
          EXPECT_TRUE(event.values.emplace(tag, number).second) << tag;
        }
        break;
      default:
        ADD_FAILURE() << "a field with the key " << key;
        return event;
    }
  }
  return event;
}

std::vector<Event> read_events(std::string_view bytes) {
  const auto unmasked = [](uint64_t masked) {
    return std::rotl(static_cast<uint32_t>(masked - 0xa282ead8), 15);
  };
  std::vector<Event> events;
  for (Reader file(bytes); !file.done();) {
    const std::string_view length = file.take(8);
    EXPECT_EQ(unmasked(file.fixed(4)), slow_crc(length));
    const std::string_view data = file.take(Reader(length).fixed(8));
    EXPECT_EQ(unmasked(file.fixed(4)), slow_crc(data));
    events.push_back(read_event(data));
  }
  return events;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(train::crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(train::crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(train::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(train::crc32c(""), 0u);
  EXPECT_EQ(slow_crc("123456789"), 0xe3069283u);
}

TEST(EventFile, RowsBecomeEvents) {
  const train::Columns columns = train::classification_columns(train::BestBy::kTop1);
  MetricsRow row;
  row.epoch = 1.5;
  row.step = 300;  // two bytes as a varint
  row.lr = 1e-3;
  row.train_loss = 2.25;
  row.train = {0.5};
  row.val = {0.75, 0.25, NAN, 0.125};
  row.images_per_second = 99;
  row.seconds = 61.5;
  const std::string file = train::event_file(columns, {row});
  // The length of the first record and its checksum, as all writers of the format have them.
  EXPECT_EQ(file.substr(0, 13), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13));
  const std::vector<Event> events = read_events(file);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 0);
  EXPECT_TRUE(events[0].values.empty());
  EXPECT_EQ(events[1].step, 300);
  EXPECT_EQ(events[1].wall_time, 61.5);
  const std::map<std::string, float> expected = {
      {"epoch", 1.5f},          {"lr", 1e-3f},
      {"train/loss", 2.25f},    {"train/top1", 0.5f},
      {"val/loss", 0.75f},      {"val/top1", 0.25f},
      {"val/balanced", 0.125f}, {"images_per_second", 99}};
  EXPECT_EQ(events[1].values, expected) << "what was not measured is not there";
  EXPECT_TRUE(train::event_file(columns, {row, row}).starts_with(file));
  EXPECT_EQ(read_events(train::event_file(columns, {})).size(), 1u);
}

TEST(EventFile, TagsAreNamedAfterTheirSplit) {
  EXPECT_EQ(train::event_tag("val_top1"), "val/top1");
  EXPECT_EQ(train::event_tag("train_box_class"), "train/box_class");
  EXPECT_EQ(train::event_tag("lr"), "lr");
}

ino_t file_number(const std::string& path) {
  struct stat status;
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_ino;
}

TEST(ExtendFile, AppendsToABeginningAndReplacesAnythingElse) {
  const TempDir folder;
  const std::string path = (folder / "file").string();
  train::extend_file(path, "abc");
  EXPECT_EQ(read_file(path), "abc");
  const ino_t number = file_number(path);
  train::extend_file(path, "abcdef");
  EXPECT_EQ(read_file(path), "abcdef");
  EXPECT_EQ(file_number(path), number) << "an open reader sees the rest";
  std::filesystem::resize_file(path, 4);  // a process that was killed while appending
  train::extend_file(path, "abcdefgh");
  EXPECT_EQ(read_file(path), "abcdefgh");
  EXPECT_EQ(file_number(path), number);
  for (const char* other : {"abxdefghi", "ab", ""}) {
    train::extend_file(path, other);
    EXPECT_EQ(read_file(path), other);
  }
  std::filesystem::create_directory(folder / "folder");
  expect_error(ErrorCode::kInput, {"folder", "cannot be written"},
               [&] { train::extend_file((folder / "folder").string(), "abc"); });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

// A table of metrics.csv by its heading.
std::vector<std::map<std::string, std::string>> read_table(const std::string& text) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> found;
    std::istringstream rest(line + ",");
    for (std::string cell; std::getline(rest, cell, ',');) found.push_back(cell);
    return found;
  };
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> heading = cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> row = cells(line);
    EXPECT_EQ(row.size(), heading.size());
    rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) rows.back()[heading[i]] = row[i];
  }
  return rows;
}

TEST(EventFile, SaysWhatMetricsCsvSaysAlsoOfAnInterruptedRun) {
  const TempDir folder;
  const std::string data = (folder / "data").string(), out = (folder / "run").string();
  write_files(data, striped_images(3, 12));
  TrainOptions options = tiny_options("small");  // two steps an epoch
  options.epochs = 5;
  run_training(options, data, out, 5);
  // The process was killed after a row was written and before its checkpoint: the row comes again.
  std::ofstream(out + "/events.out.tfevents.vig", std::ios::app) << "half a record";
  run_training(options, data, out, 7);
  const ino_t number = file_number(out + "/events.out.tfevents.vig");
  EXPECT_TRUE(run_training(options, data, out).result.finished);
  EXPECT_EQ(file_number(out + "/events.out.tfevents.vig"), number) << "it was appended to";

  const std::vector<Event> events = read_events(read_file(out + "/events.out.tfevents.vig"));
  const auto rows = read_table(read_file(out + "/metrics.csv"));
  ASSERT_EQ(rows.size(), 5u);
  ASSERT_EQ(events.size(), 6u) << "and the first, which names the format";
  for (size_t i = 0; i < rows.size(); ++i) {
    const Event& event = events[i + 1];
    EXPECT_EQ(std::to_string(event.step), rows[i].at("step"));
    EXPECT_NEAR(event.wall_time, std::stod(rows[i].at("seconds")), 0.051);
    size_t compared = 0;
    for (const auto& [name, text] : rows[i]) {
      if (name == "step" || name == "seconds") continue;
      const auto found = event.values.find(train::event_tag(name));
      ASSERT_NE(found, event.values.end()) << name;
      const double expected = std::stod(text);
      EXPECT_NEAR(found->second, expected, name == "images_per_second" ? 0.051 : 1e-6) << name;
      ++compared;
    }
    EXPECT_EQ(compared, event.values.size());
  }
}

}  // namespace
}  // namespace vig::test
