#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/inside_folder.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/image_command.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/image/encode.h"
#include "vig/pipeline/image_index.h"
#include "vig/pipeline/json_text.h"
#include "vig/tasks/neighbours_html.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

struct SearchOptions {
  ImageOptions images;
  std::string index;
  int top = 5;
  std::string page;
  std::string image_folder;  // folder below which images may be read, beside that of the index
  bool json = false;
};

// The files that an index names. It is untrusted: of those only what lies in its own folder or in
// --images is opened.
class IndexedFiles {
 public:
  IndexedFiles(const SearchOptions& options, const ImageIndex& index)
      : index_(index), folder_(fs::path(options.index).parent_path()) {
    std::error_code error;
    if (folder_.empty()) folder_ = ".";
    real_folder_ = fs::canonical(folder_, error);
    has_links_ = fs::absolute(folder_ / "", error).lexically_normal() != real_folder_ / "";
    if (options.image_folder.empty()) return;
    if (options.page.empty()) fail_usage("--images is for the page: give --html, too");
    real_images_ = fs::canonical(options.image_folder, error);
    if (!fs::is_directory(real_images_, error)) {
      fail_usage("--images {}: expected a folder", options.image_folder);
    }
  }

  // As seen from where the program runs.
  std::string path(size_t image) const {
    const fs::path full = folder_ / index_.file(image);
    return (has_links_ ? full : full.lexically_normal()).string();
  }
  // The file itself; empty where it may not be opened.
  std::string allowed(size_t image) const {
    const fs::path name = index_.file(image), path = folder_ / name;
    const bool inside = name.is_relative() && lies_inside(path, real_folder_);
    if (!inside && !lies_inside(path, real_images_)) return "";
    std::error_code error;
    return fs::canonical(path, error).string();
  }

 private:
  const ImageIndex& index_;
  fs::path folder_, real_folder_, real_images_;
  bool has_links_ = false;  // the folder of the index
};

std::string as_text(const EmbeddedImage& image, const IndexedFiles& files,
                    std::span<const Neighbour> found) {
  std::string text = printable(image.name, 4096) + "\n";
  for (const Neighbour& one : found) {
    fmt::format_to(std::back_inserter(text), "  {:7.4f}  {}\n", one.cosine,
                   printable(files.path(one.image), 4096));
  }
  return text;
}

std::string as_json(const EmbeddedImage& image, const IndexedFiles& files,
                    std::span<const Neighbour> found) {
  Json entry = {{"file", image.name}};
  if (!image.error.empty()) {
    entry["error"] = image.error;
    return json_text(entry);
  }
  entry["neighbours"] = Json::array();
  for (const Neighbour& one : found) {
    entry["neighbours"].push_back(
        {{"file", files.path(one.image)}, {"cosine", short_number(one.cosine)}});
  }
  return json_text(entry);
}

// A small copy for the page; none where the image cannot be read any more.
std::vector<uint8_t> small_jpeg(const std::string& file, const DecodeOptions& decode) {
  constexpr int kSide = 200;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  try {
    return encode_jpeg(thumbnail(*ImageFiles({file}, decode).load(0).image, kSide));
  } catch (const Error&) {
    return {};
  }
}

int search(SearchOptions options) {
  const ImageIndex index = ImageIndex::open(options.index);
  const IndexedFiles files(options, index);
  if (options.images.size == 0) options.images.size = index.input_size();
  ImageRun images(options.images);
  FileRoles roles = images.roles();
  roles.read("index", options.index);
  roles.write("--html", options.page);
  // The page shows them, too.
  for (size_t i = 0; i < index.size() && !options.page.empty(); ++i) {
    roles.read("image", files.path(i));
  }
  roles.check();
  const ModelSource source = chosen_source(options.images);
  const Embedder embedder(source, images.run_options());
  as_input(options.index, [&] {
    index.check_network(embedder);
    return 0;
  });
  std::optional<OutputFile> page;
  if (!options.page.empty()) page.emplace(options.page);
  std::vector<ShownQuery> shown;
  const DecodeOptions decode = options.images.decode();

  bool first = true;
  size_t outside = 0;  // names in the page without their images
  const auto take = [&](std::span<const EmbeddedImage> batch) {
    images.hide_progress();
    std::vector<std::vector<float>> queries;
    for (const EmbeddedImage& image : batch) {
      if (image.error.empty()) queries.push_back(image.prediction.values);
    }
    const auto neighbours = index.nearest(queries, static_cast<size_t>(options.top));
    auto next = neighbours.begin();
    for (const EmbeddedImage& image : batch) {
      if (!image.error.empty()) images.reject(image.error);
      const std::span<const Neighbour> found =
          image.error.empty() ? std::span<const Neighbour>(*next++) : std::span<const Neighbour>();
      if (options.json) {
        print((first ? "[\n" : ",\n") + as_json(image, files, found));
        first = false;
      } else if (image.error.empty()) {
        print(as_text(image, files, found));
      }
      if (!page || !image.error.empty()) continue;
      ShownQuery query{{image.name, 1, small_jpeg(image.name, decode)}, {}};
      for (const Neighbour& one : found) {
        const std::string file = files.allowed(one.image);
        outside += file.empty() ? 1 : 0;
        query.neighbours.push_back({files.path(one.image), one.cosine, small_jpeg(file, decode)});
      }
      shown.push_back(std::move(query));
    }
    return images.advance(batch.size());
  };
  images.run([&](const SampleSource& all) { embedder.embed(all, Embedder::Kind::kPooled, take); });
  if (options.json) print(first ? "[]\n" : "\n]\n");
  if (page) {
    page->write(neighbours_html(shown));
    page->finish(images.complete());
    if (outside > 0) {
      complain(
          fmt::format("{} names in {} have no image: their files are not there, or outside of the "
                      "folder of the index; --images DIR allows those below DIR",
                      outside, printable(options.page, 4096)));
    }
  }
  return images.exit_status();
}

}  // namespace

void add_search(CommandLine& line) {
  auto options = std::make_shared<SearchOptions>();
  Command& command =
      line.add_command("search", "Find the images of an index that are most similar to an image");
  command.option("index", options->index, "Index made by vig embed --index")
      .required()
      .value("INDEX");
  add_image_options(command, options->images);
  command.option("--top", options->top, "Number of results per image")
      .range(1, 1 << 20)
      .show_default()
      .value("K");
  command
      .option("--html", options->page, "Also write an HTML page with the images and their results")
      .value("FILE.html");
  command
      .option(
          "--images", options->image_folder,
          "Also allow the page to show images below this folder, not only below the index's own")
      .value("DIR");
  add_json(command, options->json);
  command.footer =
      "Similarity is the cosine of two embedding vectors. Every image of the index is compared, "
      "so\n"
      "results are exact. The model must be the one that made the index.";
  command.run = [options] { return search(*options); };
}

}  // namespace vig::cli
