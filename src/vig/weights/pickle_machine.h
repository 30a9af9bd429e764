// The machine a pickle is written for: bytes to read, a stack with marks, a memo. Private to
// pickle.cpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "vig/base/error.h"
#include "vig/weights/pickle.h"

namespace vig {

class PickleMachine {
 protected:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;
  using Value = Pickle::Value;

  // A checkpoint of a thousand tensors with its optimiser has about 50 000 values in 2 MB.
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kMaxValues = 1'000'000;
  static constexpr size_t kMaxStack = 1'000'000;
  static constexpr size_t kMaxItems = 4'000'000;  // of all containers and calls together
  static constexpr size_t kMaxMemo = 1'000'000;

  PickleMachine(std::span<const unsigned char> bytes, const std::string& file)
      : bytes_(bytes.subspan(0, std::min(bytes.size(), kMaxBytes))), file_(file) {}

  [[noreturn]] void bad(std::string_view what) const {
    fail("{}: its pickle {} (byte {})", file_, what, at_);
  }

  // --- bytes -------------------------------------------------------------------------------------

  std::span<const unsigned char> take(uint64_t count) {
    if (count > bytes_.size() - at_) bad("ends too early");
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  uint64_t little_endian(size_t width) {
    uint64_t value = 0;
    const auto raw = take(width);
    for (size_t i = width; i-- > 0;) value = value << 8 | raw[i];
    return value;
  }

  std::string_view take_text(uint64_t count) {
    const auto raw = take(count);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  std::string_view take_line() {
    const auto rest = bytes_.subspan(at_);
    const auto end = std::ranges::find(rest, static_cast<unsigned char>('\n'));
    if (end == rest.end()) bad("ends too early");
    const auto line = take_text(static_cast<uint64_t>(end - rest.begin()));
    ++at_;
    return line;
  }

  template <typename Number>
  Number take_number_line() {
    std::string_view line = take_line();
    if (line.ends_with('L')) line.remove_suffix(1);
    Number value{};
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc{} || end != line.data() + line.size()) bad("has a malformed number");
    return value;
  }

  // --- values and stack --------------------------------------------------------------------------

  Value& push_new(Kind kind) {
    if (values_.size() == kMaxValues)
      bad(fmt::format("holds more than {} values (a fixed limit)", kMaxValues));
    stack_.push_back(static_cast<Id>(values_.size()));
    values_.emplace_back().kind = kind;
    return values_.back();
  }

  void push_int(int64_t integer) { push_new(Kind::kInt).integer = integer; }
  void push_text(Kind kind, std::string_view text) { push_new(kind).text = text; }

  // Values below the latest mark belong to an unfinished object.
  size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }

  Id pop() {
    if (stack_.size() <= fence()) bad("takes a value that is not there");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }

  Value& top() {
    if (stack_.size() <= fence()) bad("takes a value that is not there");
    return values_[stack_.back()];
  }

  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) bad("closes a group that it did not open");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  std::vector<Id> pop_some(size_t count) {
    std::vector<Id> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  // One reference takes a byte of the file or, where a stored argument list is called with again,
  // none: they are counted before they are stored.
  void count_items(size_t count) {
    items_ += count;
    if (items_ > kMaxItems)
      bad(fmt::format("holds more than {} references (a fixed limit)", kMaxItems));
  }

  void extend(Value& value, Kind kind, std::span<const Id> items) {
    const bool inert = value.kind == Kind::kCall && value.global->role == GlobalRole::kInert;
    if (inert || value.kind == Kind::kOpaque) return;  // never read
    if (value.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0)) {
      bad("adds to a value that cannot hold it");
    }
    count_items(items.size());
    value.items.insert(value.items.end(), items.begin(), items.end());
  }

  void put(uint64_t slot) {
    top();  // checks that there is one
    // Writers of pickles number their slots from 0 or 1 on, so that an array holds them; a hash
    // table could be filled with keys that all collide.
    if (slot >= kMaxMemo)
      bad(fmt::format("stores more than {} values for later (a fixed limit)", kMaxMemo));
    if (slot >= memo_.size()) memo_.resize(slot + 1, kNoValue);
    memo_used_ += memo_[slot] == kNoValue;
    memo_[slot] = stack_.back();
  }

  void get(uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot] == kNoValue) {
      bad("recalls a value that it never stored");
    }
    stack_.push_back(memo_[slot]);
  }

  std::span<const unsigned char> bytes_;
  const std::string& file_;
  size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;  // stack heights
  static constexpr Id kNoValue = UINT32_MAX;
  std::vector<Id> memo_;  // by slot
  size_t memo_used_ = 0;  // slots that hold a value
  size_t items_ = 0;
};

}  // namespace vig
