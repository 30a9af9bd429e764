// JSON read value by value from a text that is never copied, however long it is. Texts are not
// trusted: depth is bounded, and so is everything else by the text's length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

class JsonReader {
 public:
  static constexpr size_t kMaxDepth = 32;

  enum class Kind { kObject, kArray, kString, kNumber, kWord };  // a word: true, false or null

  // `where` begins every message, all of which are errors of kind input. `text` and `where` outlive
  // the reader. Reading starts at byte `at`, where a value begins.
  JsonReader(const std::string& where, std::string_view text, size_t at = 0)
      : where_(where), text_(text), at_(at) {}

  size_t position() const { return at_; }  // of the value that peek() saw
  Kind peek();

  // Of an object: begin, then the value of every field that next_field gives. It skips fields that
  // are not `known` and throws for one that is given twice. Gives known.size() at the end.
  void begin_object(const char* what);
  size_t next_field(std::span<const std::string_view> known, uint32_t& seen);

  // Of an array: begin, then a value whenever next_item gives true.
  void begin_array(const char* what);
  bool next_item();

  // Values. `what` names what was expected: "the width of an image".
  double number(const char* what);
  int64_t whole(const char* what, int64_t least, int64_t most);
  bool flag(const char* what);           // true, false, 1 or 0
  std::string string(const char* what);  // as UTF-8
  void skip();                           // of any kind
  bool skip_null();                      // true if it was null
  void end();                            // nothing but space follows

  [[noreturn]] void fail_here(const std::string& expected) const;

 private:
  char next_character();  // that is no space; 0 at the end
  void expect(char c, const char* what);
  std::string_view number_text(const char* what);
  std::string_view string_text(const char* what);  // between the quotes, escapes as they are
  void enter();

  const std::string& where_;
  std::string_view text_;
  size_t at_;
  std::vector<uint8_t> first_;  // of what is open: nothing was read of it yet
};

}  // namespace vig
