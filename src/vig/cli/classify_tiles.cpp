#include "vig/cli/classify_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/journal.h"
#include "vig/cli/output.h"
#include "vig/image/draw.h"
#include "vig/image/encode_png.h"
#include "vig/image/sliding_rows.h"
#include "vig/pipeline/classifier.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

const std::string kTileTable = "tiles.csv", kTileHeatMap = "tiles.png",
                  kTileJournal = "tiles.partial";

struct TileClass {
  int index = 0;
  float probability = 0;
};
// The best classes of a tile; empty: background that was skipped.
using Tile = std::vector<TileClass>;

// The tiles of one row that are not skipped, as images.
class RowTiles final : public SampleSource {
 public:
  RowTiles(const SlidingRows& rows, std::vector<InputWindow> tiles, std::string image)
      : rows_(rows), tiles_(std::move(tiles)), image_(std::move(image)) {}

  size_t size() const override { return tiles_.size(); }
  std::string location(size_t sample) const override {
    return fmt::format("{} at {},{}", image_, tiles_[sample].x, tiles_[sample].y);
  }
  Sample load(size_t sample) const override {
    const InputWindow& tile = tiles_[sample];
    return {std::make_shared<const Image>(rows_.cut(tile.x, tile.y, tile.width, tile.height)), {}};
  }

 private:
  const SlidingRows& rows_;
  std::vector<InputWindow> tiles_;
  std::string image_;
};

// A line for each tile: index and probability of each class.
std::string block_text(const std::vector<Tile>& row) {
  std::string text;
  for (const Tile& tile : row) {
    for (const TileClass& one : tile) {
      fmt::format_to(std::back_inserter(text), "{} {} ", one.index, one.probability);
    }
    text += '\n';
  }
  return text;
}

std::vector<Tile> parse_block(const std::string& text, const std::string& file) {
  std::vector<Tile> row;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](auto& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || next == end || *next != ' ') fail("{}: damaged", file);
    at = next + 1;
  };
  while (at != end) {
    Tile& tile = row.emplace_back();
    while (at != end && *at != '\n') {
      TileClass one;
      number(one.index);
      number(one.probability);
      tile.push_back(one);
    }
    if (at != end) ++at;
  }
  return row;
}

struct TiledImage {
  const std::string& name;
  RegionSource& source;
  WindowPlan plan;
  std::vector<InputWindow> tiles;
  std::vector<std::span<const InputWindow>> rows;

  TiledImage(const std::string& file, RegionSource& regions, const WindowPlan& windows)
      : name(file),
        source(regions),
        plan(windows),
        tiles(sliding_windows(static_cast<int>(plan.region.width),
                              static_cast<int>(plan.region.height), plan.side, plan.stride)),
        rows(window_rows(tiles)) {}
};

// Rows that the journal lacks. False where Ctrl-C was pressed.
bool run_tiles(const Classifier& classifier, const TiledImage& image, int top, Journal& journal) {
  SlidingRows pixels(image.source, image.plan.level, image.plan.region);
  size_t done = 0;
  for (size_t i = 0; i < std::min(journal.blocks(), image.rows.size()); ++i) {
    done += image.rows[i].size();
  }
  WindowProgress progress(image.tiles.size(), done);
  for (size_t i = journal.blocks(); i < image.rows.size(); ++i) {
    const std::span<const InputWindow> row = image.rows[i];
    pixels.keep(row.front().y, row.front().y + row.front().height);
    std::vector<size_t> columns;
    std::vector<InputWindow> shown;
    for (size_t column = 0; column < row.size(); ++column) {
      const InputWindow& tile = row[column];
      if (image.plan.skip_background &&
          is_background(pixels.cut(tile.x, tile.y, tile.width, tile.height))) {
        continue;
      }
      columns.push_back(column);
      shown.push_back(tile);
    }
    std::vector<Tile> results(row.size());
    bool more = progress.advance(row.size() - shown.size());
    const RowTiles source(pixels, std::move(shown), image.name);
    if (more && source.size() > 0) {
      classifier.classify(source, top, [&](std::span<const ClassifiedImage> batch) {
        for (const ClassifiedImage& one : batch) {
          if (!one.error.empty()) fail("{}", one.error);
          for (const ClassScore& score : one.prediction.scores) {
            results[columns[one.index]].push_back({score.index, score.probability});
          }
        }
        return more = progress.advance(batch.size());
      });
    }
    // The row may be complete although Ctrl-C was pressed.
    const bool complete =
        std::ranges::none_of(columns, [&](size_t column) { return results[column].empty(); });
    if (complete) journal.append(block_text(results));
    if (!more) return false;
  }
  return true;
}

std::string class_name(const std::vector<std::string>& classes, int index) {
  const auto at = static_cast<size_t>(index);
  return at < classes.size() ? classes[at] : fmt::format("{}", index);
}

// One cell for each tile in the colour of its class, the paler the less probable.
Image heat_map(const TiledImage& image, const Journal& journal,
               const std::vector<std::string>& classes, std::span<const int64_t> counts) {
  constexpr int kSide = 1200, kMostCell = 32;
  const auto columns = static_cast<int>(image.rows.front().size());
  const auto rows = static_cast<int>(image.rows.size());
  const int cell = std::clamp(kSide / std::max(columns, rows), 1, kMostCell);
  const std::vector<Color> palette = class_palette(256, classes);
  Image map(columns * cell, rows * cell);
  for (int y = 0; y < rows; ++y) {
    const std::vector<Tile> row = parse_block(journal.read(static_cast<size_t>(y)), journal.path());
    for (int x = 0; x < columns; ++x) {
      const Tile& tile = row.at(static_cast<size_t>(x));
      fill_rectangle(map, x * cell, y * cell, cell, cell,
                     tile.empty() ? kPaperColor : Color{255, 255, 255});
      if (tile.empty()) continue;
      fill_rectangle(map, x * cell, y * cell, cell, cell,
                     palette[static_cast<size_t>(tile.front().index) % palette.size()],
                     double{tile.front().probability});
    }
  }
  return draw_legend(map, area_shares(counts), classes, {},
                     std::max(1, drawing_scale(map.width, map.height).text));
}

// How many tiles show each class best; nothing where Ctrl-C was pressed.
std::vector<int64_t> write_files(const TiledImage& image, const Journal& journal,
                                 const std::vector<std::string>& classes, int top, int outputs,
                                 const std::string& table, const std::string& drawing) {
  AtomicFile csv(table), png(drawing);
  std::string text = "x,y,width,height";
  for (int rank = 1; rank <= top; ++rank) {
    fmt::format_to(std::back_inserter(text), ",index{0},class{0},probability{0}", rank);
  }
  text += '\n';
  std::vector<int64_t> counts(static_cast<size_t>(outputs), 0);
  const WindowPlan& plan = image.plan;
  for (size_t i = 0; i < image.rows.size(); ++i) {
    const std::vector<Tile> row = parse_block(journal.read(i), journal.path());
    if (row.size() != image.rows[i].size()) fail("{}: damaged", journal.path());
    for (size_t k = 0; k < row.size(); ++k) {
      const InputWindow& tile = image.rows[i][k];
      fmt::format_to(std::back_inserter(text), "{},{},{},{}", plan.full_x(tile.x),
                     plan.full_y(tile.y), tile.width * plan.downsample,
                     tile.height * plan.downsample);
      for (size_t rank = 0; rank < static_cast<size_t>(top); ++rank) {
        if (rank >= row[k].size()) {
          text += ",,,";
          continue;
        }
        fmt::format_to(std::back_inserter(text), ",{},{},{}", row[k][rank].index,
                       csv_quoted(class_name(classes, row[k][rank].index)),
                       row[k][rank].probability);
      }
      text += '\n';
      if (!row[k].empty()) ++counts.at(static_cast<size_t>(row[k].front().index));
    }
    csv.write(text.data(), text.size());
    text.clear();
  }
  const std::vector<uint8_t> bytes = encode_png(heat_map(image, journal, classes, counts));
  png.write(bytes.data(), bytes.size());
  csv.commit();
  png.commit();
  return counts;
}

std::string as_text(const TiledImage& image, const std::vector<int64_t>& counts,
                    const std::vector<std::string>& classes) {
  std::string text = fmt::format(
      "{}  {}x{}, {} tiles of {} pixels\n", printable(image.name, 4096), image.plan.region.width,
      image.plan.region.height, grouped(static_cast<int64_t>(image.tiles.size())), image.plan.side);
  for (const AreaShare& share : area_shares(counts)) {
    text += fmt::format("  {:6.2f} %  {:4}  {}\n", 100 * share.share, share.label,
                        printable(class_name(classes, share.label)));
  }
  return text;
}

std::string as_json(const TiledImage& image, const std::vector<int64_t>& counts,
                    const std::vector<std::string>& classes, const std::string& table,
                    const std::string& drawing) {
  Json entry = {{"file", image.name},
                {"width", image.plan.region.width},
                {"height", image.plan.region.height},
                {"side", image.plan.side},
                {"tiles", image.tiles.size()},
                {"csv", table},
                {"heat_map", drawing},
                {"classes", Json::array()}};
  for (size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0) continue;
    Json row = {{"index", label}};
    if (label < classes.size()) row["name"] = classes[label];
    row["tiles"] = counts[label];
    entry["classes"].push_back(std::move(row));
  }
  return json_text(entry);
}

}  // namespace

void add_tile_options(Command& command, TileOptions& options) {
  command
      .option("--tiles", options.side,
              "Classify tiles of N pixels: NAME.tiles.csv and the heat map NAME.tiles.png")
      .range(1, 1 << 14)
      .value("N")
      .group("Large images");
  add_large_options(command, options.large, false);
}

int classify_tiles(const ImageOptions& options, const TileOptions& tiles, int top, bool json) {
  ImageRun images(options);
  const ImageOutputs outputs(tiles.out, images, {kTileTable, kTileHeatMap, kTileJournal});
  FileRoles roles = images.roles();
  outputs.add_roles(roles);
  roles.check();
  const ModelSource source = chosen_source(options);
  const Classifier classifier(source, options.run(std::numeric_limits<size_t>::max()));
  outputs.prepare();
  const std::string note = default_model_note(source, options);
  if (!note.empty() && json) complain(note);
  if (!note.empty() && !json) print(note + "\n");
  const int classes = model_classes(source.spec);
  top = std::min(top, classes);
  bool first = true;
  const auto take = [&](size_t index, RegionSource& regions) {
    const std::string& name = images.files()[index];
    // Tiles count pixels of the image, or of the network's scale where microns are given.
    WindowOptions windows = tiles.large.windows(0, 0);
    windows.overlap = 0;
    Recipe recipe = source.spec.recipe;
    recipe.crop = tiles.side;
    const TiledImage image(name, regions, plan_windows(regions, recipe, windows, 0));
    images.hide_progress();
    Journal journal(
        outputs.path(index, kTileJournal),
        work_line("classify", name, options, image.plan, {{"top", top}, {"size", options.size}}));
    if (!run_tiles(classifier, image, top, journal)) {
      complain_stopped(outputs.path(index, kTileTable), journal.path());
      return false;
    }
    const std::string table = outputs.path(index, kTileTable),
                      drawing = outputs.path(index, kTileHeatMap);
    const std::vector<int64_t> counts =
        write_files(image, journal, source.classes, top, classes, table, drawing);
    journal.remove();
    if (json) {
      print(first ? "[\n" : ",\n");
      print(as_json(image, counts, source.classes, table, drawing));
      first = false;
    } else {
      print(as_text(image, counts, source.classes));
    }
    return images.advance(1);
  };
  images.run([&](const SampleSource&) {
    for_each_image(
        images, options, true, [](const std::vector<size_t>&) { return true; }, take,
        [&](size_t, const std::string& error) {
          images.hide_progress();
          images.reject(error);
          return images.advance(1);
        });
  });
  if (json) print(first ? "[]\n" : "\n]\n");
  return images.exit_status();
}

}  // namespace vig::cli
