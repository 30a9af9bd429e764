// Fenced blocks of a Markdown page.
#pragma once

#include <string>
#include <vector>

namespace vig::test {

struct FencedBlock {
  std::string info;     // after the opening fence: "sh", "text numbers vary"
  std::string text;     // with its last newline
  std::string comment;  // the HTML comment on the line before, without its marks
  int line = 0;         // of the opening fence, from 1
};

std::vector<FencedBlock> fenced_blocks(const std::string& page);

// Where `[text](target)` leads, without #fragments; addresses on the web are left out.
std::vector<std::string> local_links(const std::string& page);

// Whether `output` is what the page shows. A line "..." stands for any lines. With `numbers_vary`
// numbers and the space between words do not count.
bool shows(const std::string& shown, const std::string& output, bool numbers_vary);

}  // namespace vig::test
