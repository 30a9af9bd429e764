// A pickle read as data. Python runs a pickle; we only keep what it says: values, and for each call
// which known name would have been called with which arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/weights/pickle_globals.h"

namespace vig {

class Pickle {
 public:
  // Values refer to each other by number. A pickle may describe cycles and nest as deep as it is
  // long; with numbers neither leaks, and no destructor recurses.
  using Id = uint32_t;

  enum class Kind : uint8_t {
    kNone,
    kBool,        // integer
    kInt,         // integer
    kFloat,       // real
    kText,        // text
    kBytes,       // text
    kTuple,       // items
    kList,        // items
    kDict,        // items: key, value, key, value, ...
    kGlobal,      // global
    kCall,        // global and items: the arguments
    kPersistent,  // items[0]: what names the outside object; for torch a storage
    kOpaque,      // sets, integers beyond 64 bits: harmless, never read
  };

  struct Value {
    Kind kind = Kind::kNone;
    union {
      int64_t integer = 0;
      double real;
      const KnownGlobal* global;
    };
    std::string_view text;  // points into the parsed bytes
    std::vector<Id> items;
  };

  // Reads one pickle from the front of `bytes`, which must outlive the result. Throws an Error that
  // begins with `file` on anything malformed, and on any global that is not in pickle_globals.cpp,
  // with its name. Memory stays proportional to the bytes read, below fixed limits.
  static Pickle parse(std::span<const unsigned char> bytes, const std::string& file);

  const Value& root() const { return values_[root_]; }
  const Value& operator[](Id id) const { return values_[id]; }
  const std::vector<Value>& values() const { return values_; }
  size_t bytes_read() const { return bytes_read_; }

  // The value of a text key in a dictionary; null when absent. The last one wins, as in Python.
  const Value* find(const Value& dict, std::string_view key) const;

 private:
  friend class PickleReader;
  Pickle() = default;

  std::vector<Value> values_;
  Id root_ = 0;
  size_t bytes_read_ = 0;
};

}  // namespace vig
