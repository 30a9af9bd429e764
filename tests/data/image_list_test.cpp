// A part of a dataset, written down by name, is found again.
#include "vig/data/image_list.h"

#include <gtest/gtest.h>

#include "data/archive_bytes.h"
#include "support/errors.h"
#include "support/files.h"

namespace vig::test {
namespace {

Dataset of_names(const TempDir& dir, const std::vector<std::string>& names) {
  Files files;
  for (const std::string& name : names) files[name] = "";
  write_file(dir / "x.tar", tar_bytes(files));
  return *open_dataset((dir / "x.tar").string()).whole;
}

std::vector<std::string> names_of(const Dataset& dataset) {
  std::vector<std::string> names;
  for (size_t i = 0; i < dataset.size(); ++i) names.emplace_back(dataset.name(i));
  return names;
}

TEST(ImageList, GivesBackWhatItWasMadeOf) {
  const TempDir dir;
  const std::vector<std::string> names = {"a/1.jpg", "a/two\nlines.jpg", "a/back\\slash.jpg",
                                          "b/\\n.jpg", "b/caf\xe9.jpg"};
  std::vector<std::string> more = names;
  more.insert(more.end(), {"a/0.jpg", "b/other.jpg"});
  const Dataset small = of_names(dir, names);
  const std::string text = image_list_text(small);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  const Dataset again = select_images(of_names(dir, more), text, "list");
  EXPECT_EQ(names_of(again), names_of(small));
  EXPECT_EQ(again.label(4), 1);
}

TEST(ImageList, NamesWhatIsNotThere) {
  const TempDir dir;
  const Dataset dataset = of_names(dir, {"a/1.jpg", "b/1.jpg"});
  const auto expect = [&](const char* text, std::initializer_list<std::string> words) {
    expect_error(ErrorCode::kInput, words, [&] { select_images(dataset, text, "list.txt"); });
  };
  expect("a/1.jpg\na/2.jpg\n", {"list.txt: ", "\"a/2.jpg\""});
  expect("a/1.jpg\na/1.jpg\n", {"list.txt: ", "\"a/1.jpg\"", "twice"});
  expect("", {"list.txt: ", "found none"});
  expect("a\\1.jpg\n", {"list.txt: ", "backslash"});
  EXPECT_EQ(select_images(dataset, "b/1.jpg", "x").size(), 1u) << "without a last line break";
}

}  // namespace
}  // namespace vig::test
