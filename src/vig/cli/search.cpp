#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/inside_folder.h"
#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/cli/picture_command.h"
#include "vig/image/encode.h"
#include "vig/pipeline/json_text.h"
#include "vig/pipeline/picture_index.h"
#include "vig/tasks/neighbours_html.h"

#include <nlohmann/json.hpp>

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

struct SearchOptions {
  PictureOptions pictures;
  std::string index;
  int top = 5;
  std::string page;
  std::string images;  // folder below which images may be read, beside that of the index
  bool json = false;
};

// The files that an index names. It is untrusted: of those only what lies in its own folder or in
// --images is opened.
class IndexedFiles {
 public:
  IndexedFiles(const SearchOptions& options, const PictureIndex& index)
      : index_(index), folder_(fs::path(options.index).parent_path()) {
    std::error_code error;
    if (folder_.empty()) folder_ = ".";
    real_folder_ = fs::canonical(folder_, error);
    has_links_ = fs::absolute(folder_ / "", error).lexically_normal() != real_folder_ / "";
    if (options.images.empty()) return;
    if (options.page.empty()) fail_usage("--images is for the page: give --html, too");
    real_images_ = fs::canonical(options.images, error);
    if (!fs::is_directory(real_images_, error)) {
      fail_usage("--images {}: expected a folder", options.images);
    }
  }

  // As seen from where the program runs.
  std::string path(size_t image) const {
    const fs::path joined = folder_ / index_.file(image);
    return (has_links_ ? joined : joined.lexically_normal()).string();
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
  const PictureIndex& index_;
  fs::path folder_, real_folder_, real_images_;
  bool has_links_ = false;  // the folder of the index
};

std::string as_text(const EmbeddedPicture& picture, const IndexedFiles& files,
                    std::span<const Neighbour> found) {
  std::string text = printable(picture.name, 4096) + "\n";
  for (const Neighbour& one : found) {
    fmt::format_to(std::back_inserter(text), "  {:7.4f}  {}\n", one.cosine,
                   printable(files.path(one.picture), 4096));
  }
  return text;
}

std::string as_json(const EmbeddedPicture& picture, const IndexedFiles& files,
                    std::span<const Neighbour> found) {
  nlohmann::ordered_json entry = {{"file", picture.name}};
  if (!picture.error.empty()) {
    entry["error"] = picture.error;
    return json_text(entry);
  }
  entry["neighbours"] = nlohmann::ordered_json::array();
  for (const Neighbour& one : found) {
    entry["neighbours"].push_back(
        {{"file", files.path(one.picture)}, {"cosine", short_number(one.cosine)}});
  }
  return json_text(entry);
}

// A small copy for the page; none where the picture cannot be read any more.
std::vector<uint8_t> small_jpeg(const std::string& file, const DecodeOptions& decode) {
  constexpr int kSide = 200;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  try {
    return encode_jpeg(thumbnail(*PictureFiles({file}, decode).load(0).image, kSide));
  } catch (const Error&) {
    return {};
  }
}

int search(SearchOptions options) {
  const PictureIndex index = PictureIndex::open(options.index);
  const IndexedFiles files(options, index);
  if (options.pictures.size == 0) options.pictures.size = index.input_size();
  PictureRun pictures(options.pictures);
  FileRoles roles = pictures.roles();
  roles.read("index", options.index);
  roles.write("--html", options.page);
  // The page shows them, too.
  for (size_t i = 0; i < index.size() && !options.page.empty(); ++i) {
    roles.read("picture", files.path(i));
  }
  roles.check();
  const ModelSource source = chosen_source(options.pictures);
  const Embedder embedder(source, pictures.run_options());
  as_input(options.index, [&] {
    index.check_network(embedder);
    return 0;
  });
  std::optional<OutputFile> page;
  if (!options.page.empty()) page.emplace(options.page);
  std::vector<ShownQuery> shown;
  const DecodeOptions decode = options.pictures.decode();

  bool first = true;
  size_t outside = 0;  // names in the page without their images
  const auto take = [&](std::span<const EmbeddedPicture> answers) {
    pictures.hide_progress();
    std::vector<std::vector<float>> queries;
    for (const EmbeddedPicture& answer : answers) {
      if (answer.error.empty()) queries.push_back(answer.answer.values);
    }
    const auto neighbours = index.nearest(queries, static_cast<size_t>(options.top));
    auto next = neighbours.begin();
    for (const EmbeddedPicture& answer : answers) {
      if (!answer.error.empty()) pictures.reject(answer.error);
      const std::span<const Neighbour> found =
          answer.error.empty() ? std::span<const Neighbour>(*next++) : std::span<const Neighbour>();
      if (options.json) {
        print((first ? "[\n" : ",\n") + as_json(answer, files, found));
        first = false;
      } else if (answer.error.empty()) {
        print(as_text(answer, files, found));
      }
      if (!page || !answer.error.empty()) continue;
      ShownQuery query{{answer.name, 1, small_jpeg(answer.name, decode)}, {}};
      for (const Neighbour& one : found) {
        const std::string file = files.allowed(one.picture);
        outside += file.empty() ? 1 : 0;
        query.neighbours.push_back({files.path(one.picture), one.cosine, small_jpeg(file, decode)});
      }
      shown.push_back(std::move(query));
    }
    return pictures.advance(answers.size());
  };
  pictures.run(
      [&](const SampleSource& all) { embedder.embed(all, Embedder::Kind::kPooled, take); });
  if (options.json) print(first ? "[]\n" : "\n]\n");
  if (page) {
    page->write(neighbours_html(shown));
    page->finish(pictures.complete());
    if (outside > 0) {
      complain(
          fmt::format("{} names in {} have no image: their files are not there, or outside of the "
                      "folder of the index; --images DIR allows those below DIR",
                      outside, printable(options.page, 4096)));
    }
  }
  return pictures.exit_status();
}

}  // namespace

void add_search(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<SearchOptions>();
  CLI::App* command =
      app.add_subcommand("search", "Find the pictures of an index that are most like a picture");
  command->add_option("index", options->index, "Index made by vig embed --index")
      ->required()
      ->type_name("INDEX");
  add_picture_options(*command, options->pictures);
  command->add_option("--top", options->top, "Number of pictures to print for each picture")
      ->check(in_range(1, 1 << 20).description(""))
      ->capture_default_str()
      ->type_name("K");
  command
      ->add_option("--html", options->page,
                   "Also write a page that shows the pictures beside their neighbours")
      ->type_name("FILE.html");
  command
      ->add_option("--images", options->images,
                   "Folder below which the page may read images, beside the folder of the index")
      ->type_name("DIR");
  add_json(*command, options->json);
  command->footer(
      "Pictures are compared by the cosine of their embedding vectors, each with every picture of\n"
      "the index: the answer is exact. The network must be the one that made the index.");
  command->callback([&chosen, options] { chosen = [options] { return search(*options); }; });
}

}  // namespace vig::cli
