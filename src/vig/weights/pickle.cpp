#include "vig/weights/pickle.h"

#include <bit>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/weights/pickle_machine.h"
#include "vig/weights/pickle_opcodes.h"

namespace vig {

class PickleReader : PickleMachine {
 public:
  PickleReader(std::span<const unsigned char> bytes, const std::string& file)
      : PickleMachine(bytes, file) {}

  Pickle read() {
    while (true) {
      const auto op = static_cast<PickleOp>(take(1)[0]);
      if (op == PickleOp::kStop) break;
      if (!run_scalar(op) && !run_container(op) && !run_object(op)) {
        bad(fmt::format("has opcode 0x{:02x}, which no state dict needs", static_cast<int>(op)));
      }
      if (stack_.size() > kMaxStack) {
        bad(fmt::format("piles up more than {} values (a fixed limit)", kMaxStack));
      }
    }
    Pickle pickle;
    pickle.root_ = pop();
    pickle.bytes_read_ = at_;
    pickle.values_ = std::move(values_);
    return pickle;
  }

 private:
  bool run_scalar(PickleOp op) {
    using enum PickleOp;
    switch (op) {
      case kNone:
        push_new(Kind::kNone);
        return true;
      case kNewTrue:
      case kNewFalse:
        push_new(Kind::kBool).integer = op == kNewTrue;
        return true;
      case kBinInt:
        push_int(static_cast<int32_t>(little_endian(4)));
        return true;
      case kBinInt1:
        push_int(static_cast<int64_t>(little_endian(1)));
        return true;
      case kBinInt2:
        push_int(static_cast<int64_t>(little_endian(2)));
        return true;
      case kLong1:
        push_long(little_endian(1));
        return true;
      case kLong4:
        push_long(little_endian(4));
        return true;
      case kIntText:
      case kLongText:
        push_int(take_number_line<int64_t>());
        return true;
      case kFloatText: {
        const double real = take_number_line<double>();
        push_new(Kind::kFloat).real = real;
        return true;
      }
      case kBinFloat: {
        uint64_t bits = 0;
        for (unsigned char byte : take(8)) bits = bits << 8 | byte;
        push_new(Kind::kFloat).real = std::bit_cast<double>(bits);
        return true;
      }
      case kStringText:
      case kUnicodeText:
        push_text(Kind::kText, take_line());
        return true;
      case kShortBinString:
      case kShortBinUnicode:
        push_text(Kind::kText, take_text(little_endian(1)));
        return true;
      case kBinString:  // Python 2 names tensors by byte strings
      case kBinUnicode:
        push_text(Kind::kText, take_text(little_endian(4)));
        return true;
      case kBinUnicode8:
        push_text(Kind::kText, take_text(little_endian(8)));
        return true;
      case kShortBinBytes:
        push_text(Kind::kBytes, take_text(little_endian(1)));
        return true;
      case kBinBytes:
        push_text(Kind::kBytes, take_text(little_endian(4)));
        return true;
      case kBinBytes8:
      case kByteArray8:
        push_text(Kind::kBytes, take_text(little_endian(8)));
        return true;
      default:
        return false;
    }
  }

  void push_long(uint64_t width) {
    const auto raw = take(width);
    if (width > 8) {
      push_new(Kind::kOpaque);
      return;
    }
    // Two's complement of any width: begin with the sign and shift the bytes in.
    uint64_t value = width > 0 && (raw.back() & 0x80) ? ~uint64_t{0} : 0;
    for (size_t i = raw.size(); i-- > 0;) value = value << 8 | raw[i];
    push_int(static_cast<int64_t>(value));
  }

  bool run_container(PickleOp op) {
    using enum PickleOp;
    switch (op) {
      case kMark:
        marks_.push_back(stack_.size());
        if (marks_.size() > kMaxStack) {
          bad(fmt::format("opens more than {} groups (a fixed limit)", kMaxStack));
        }
        return true;
      case kPop:
        if (stack_.size() == fence() && !marks_.empty()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case kPopMark:
        pop_to_mark();
        return true;
      case kDup:
        top();
        stack_.push_back(stack_.back());
        return true;
      case kEmptyTuple:
        push_new(Kind::kTuple);
        return true;
      case kEmptyList:
        push_new(Kind::kList);
        return true;
      case kEmptyDict:
        push_new(Kind::kDict);
        return true;
      case kEmptySet:
        push_new(Kind::kOpaque);
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_items(Kind::kTuple, pop_some(op == kTuple1 ? 1 : op == kTuple2 ? 2 : 3));
        return true;
      case kTuple:
        push_items(Kind::kTuple, pop_to_mark());
        return true;
      case kList:
        push_items(Kind::kList, pop_to_mark());
        return true;
      case kDict: {
        const auto items = pop_to_mark();
        extend(push_new(Kind::kDict), Kind::kDict, items);
        return true;
      }
      case kFrozenSet:
        pop_to_mark();
        push_new(Kind::kOpaque);
        return true;
      case kAppend: {
        const Id item = pop();
        extend(top(), Kind::kList, {&item, 1});
        return true;
      }
      case kAppends: {
        const auto items = pop_to_mark();
        extend(top(), Kind::kList, items);
        return true;
      }
      case kSetItem: {
        const auto items = pop_some(2);
        extend(top(), Kind::kDict, items);
        return true;
      }
      case kSetItems: {
        const auto items = pop_to_mark();
        extend(top(), Kind::kDict, items);
        return true;
      }
      case kAddItems:
        pop_to_mark();
        if (top().kind != Kind::kOpaque) bad("adds to a value that cannot hold it");
        return true;
      default:
        return false;
    }
  }

  void push_items(Kind kind, std::vector<Id>&& items) {
    count_items(items.size());
    push_new(kind).items = std::move(items);
  }

  bool run_object(PickleOp op) {
    using enum PickleOp;
    switch (op) {
      case kProto: {
        const uint64_t protocol = little_endian(1);
        if (protocol > 5) bad(fmt::format("has protocol {}, expected at most 5", protocol));
        return true;
      }
      case kFrame:
        if (little_endian(8) > bytes_.size() - at_) bad("ends too early");
        return true;
      case kGetText:
        get(take_number_line<uint64_t>());
        return true;
      case kBinGet:
        get(little_endian(1));
        return true;
      case kLongBinGet:
        get(little_endian(4));
        return true;
      case kPutText:
        put(take_number_line<uint64_t>());
        return true;
      case kBinPut:
        put(little_endian(1));
        return true;
      case kLongBinPut:
        put(little_endian(4));
        return true;
      case kMemoize:
        put(memo_used_);
        return true;
      case kGlobal: {
        const auto module = take_line();
        push_global(module, take_line());
        return true;
      }
      case kStackGlobal: {
        const Value& name = values_[pop()];
        const Value& module = values_[pop()];
        if (name.kind != Kind::kText || module.kind != Kind::kText)
          bad("has a global without name");
        push_global(module.text, name.text);
        return true;
      }
      case kInst: {
        const auto module = take_line();
        push_global(module, take_line());
        const Id callable = pop();
        call(callable, pop_to_mark());
        return true;
      }
      case kObj: {
        auto items = pop_to_mark();
        if (items.empty()) bad("takes a value that is not there");
        const Id callable = items.front();
        items.erase(items.begin());
        call(callable, std::move(items));
        return true;
      }
      case kNewObjEx:
        pop();  // keyword arguments
        [[fallthrough]];
      case kReduce:
      case kNewObj: {
        const Id arguments = pop();
        const Id callable = pop();
        if (values_[arguments].kind != Kind::kTuple) bad("calls without arguments");
        call(callable, std::vector<Id>(values_[arguments].items));
        return true;
      }
      case kBuild:  // attributes of an object: those of a state dict hold no weights
        pop();
        top();
        return true;
      case kBinPersId:
        push_items(Kind::kPersistent, pop_some(1));
        return true;
      default:
        return false;
    }
  }

  void push_global(std::string_view module, std::string_view name) {
    const KnownGlobal* known = find_known_global(module, name);
    if (known == nullptr) {
      fail(
          "{}: refused: its pickle names \"{}.{}\", and only the names that a state dict needs are "
          "allowed",
          file_, printable(module), printable(name));
    }
    push_new(Kind::kGlobal).global = known;
  }

  void call(Id callable, std::vector<Id>&& arguments) {
    if (values_[callable].kind != Kind::kGlobal) bad("calls something without a name");
    count_items(arguments.size());  // perhaps a stored tuple, called with again and again
    const KnownGlobal* known = values_[callable].global;
    switch (known->role) {
      case GlobalRole::kDict: {
        const auto pairs = pairs_of(arguments);
        extend(push_new(Kind::kDict), Kind::kDict, pairs);
        break;
      }
      case GlobalRole::kSize:
        if (arguments.size() != 1) bad("makes a size without dimensions");
        stack_.push_back(arguments[0]);
        break;
      case GlobalRole::kTensor:
      case GlobalRole::kParameter:
      case GlobalRole::kInert: {
        Value& value = push_new(Kind::kCall);
        value.global = known;
        value.items = std::move(arguments);
        break;
      }
      case GlobalRole::kStorage:
        bad("calls a storage type");
    }
  }

  // OrderedDict([(key, value), ...]), as Python 2 writes it.
  std::vector<Id> pairs_of(const std::vector<Id>& arguments) const {
    std::vector<Id> pairs;
    if (arguments.empty()) return pairs;
    const Value& list = values_[arguments[0]];
    if (list.kind != Kind::kList && list.kind != Kind::kTuple) return pairs;
    for (Id id : list.items) {
      const Value& pair = values_[id];
      const bool sequence = pair.kind == Kind::kList || pair.kind == Kind::kTuple;
      if (!sequence || pair.items.size() != 2) bad("makes a dictionary of something else");
      pairs.insert(pairs.end(), pair.items.begin(), pair.items.end());
    }
    return pairs;
  }
};

Pickle Pickle::parse(std::span<const unsigned char> bytes, const std::string& file) {
  return PickleReader(bytes, file).read();
}

const Pickle::Value* Pickle::find(const Value& dict, std::string_view key) const {
  for (size_t i = dict.items.size(); i >= 2; i -= 2) {
    const Value& candidate = values_[dict.items[i - 2]];
    if (candidate.kind == Kind::kText && candidate.text == key) return &values_[dict.items[i - 1]];
  }
  return nullptr;
}

}  // namespace vig
