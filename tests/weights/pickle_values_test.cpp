// What each opcode makes, and which names a pickle may use.
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "support/errors.h"
#include "vig/weights/pickle.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using namespace std::string_literals;
using Kind = Pickle::Kind;

// The root as text: numbers, letters in quotes, containers with their items, calls with arguments.
std::string shown(const Pickle& pickle, const Pickle::Value& value) {
  const auto items = [&] {
    std::string list;
    for (const Pickle::Id id : value.items) {
      list += (list.empty() ? "" : " ") + shown(pickle, pickle[id]);
    }
    return list;
  };
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.integer != 0 ? "True" : "False";
    case Kind::kInt:
      return std::to_string(value.integer);
    case Kind::kFloat:
      return std::to_string(value.real);
    case Kind::kText:
      return '\'' + std::string(value.text) + '\'';
    case Kind::kBytes:
      return "b'" + std::string(value.text) + '\'';
    case Kind::kTuple:
      return '(' + items() + ')';
    case Kind::kList:
      return '[' + items() + ']';
    case Kind::kDict:
      return '{' + items() + '}';
    case Kind::kGlobal:
      return std::string(value.global->name);
    case Kind::kCall:
      return std::string(value.global->name) + '(' + items() + ')';
    case Kind::kPersistent:
      return "storage " + items();
    case Kind::kOpaque:
      return "opaque";
  }
  return "";
}

std::string read(const std::string& bytes) {
  const Pickle pickle =
      Pickle::parse({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, "FILE");
  EXPECT_EQ(pickle.bytes_read(), bytes.size());
  return shown(pickle, pickle.root());
}

std::string value_refusal(const std::string& bytes) {
  return error_of([&] { read(bytes); });
}

const std::string kTensor = "ctorch._utils\n_rebuild_tensor_v2\n";
const std::string kNamespace = "cargparse\nNamespace\n";

TEST(PickleValues, OfEveryOpcode) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x88."s, "True"},
      {"\x89."s, "False"},
      {"M\xff\xff."s, "65535"},
      {"Shi\n."s, "'hi'"},
      {"F-2.5\n."s, "-2.500000"},
      {"K\x01K\x02\x86."s, "(1 2)"},
      {"K\x01K\x02K\x03\x87."s, "(1 2 3)"},
      {"(K\x01K\x02t."s, "(1 2)"},
      {")."s, "()"},
      {"(K\x01K\x02l."s, "[1 2]"},
      {"]K\x01\x61K\x02\x61."s, "[1 2]"},
      {"(U\x01xK\x02\x64."s, "{'x' 2}"},
      {"}U\x01xK\x02s."s, "{'x' 2}"},
      {"K\x05\x32\x86."s, "(5 5)"},           // DUP
      {"K\x05K\x06\x30."s, "5"},              // POP
      {"K\x05(0."s, "5"},                     // POP of a mark
      {"K\x05(NN1."s, "5"},                   // POP_MARK
      {"\x8f."s, "opaque"},                   // a set
      {"\x8f(K\x01\x90."s, "opaque"},         // and what is added to it
      {"(K\x01\x91."s, "opaque"},             // a frozen one
      {"K\x07p3\n0g3\n."s, "7"},              // the memo, by text
      {"K\x07r\1\0\0\0000j\1\0\0\0."s, "7"},  // by four bytes
      {"K\x07\x94K\x08\x94\x30h\0\x86."s, "(7 7)"},
      {"K\x01Q."s, "storage 1"},
      {kTensor + "(K\x01K\x02tR."s, "_rebuild_tensor_v2(1 2)"},
      {"(" + kTensor + "K\x01K\x02o."s, "_rebuild_tensor_v2(1 2)"},
      {"(K\x01K\x02i" + kTensor.substr(1) + ".", "_rebuild_tensor_v2(1 2)"},
      {kNamespace + ")\x81."s, "Namespace()"},
      {kNamespace + "K\x01\x85}\x92."s, "Namespace(1)"},  // with keywords, which do not count
      {kNamespace + ")\x81}b."s, "Namespace()"},
      {"X\x05\0\0\0torchX\x04\0\0\0Size\x93."s, "Size"},
      {"ctorch\nSize\nK\x01K\x02\x86\x85R."s, "(1 2)"},
      {"ccollections\nOrderedDict\n)R."s, "{}"},
  };
  for (const auto& [bytes, expected] : cases) {
    SCOPED_TRACE(testing::PrintToString(bytes));
    EXPECT_EQ(read(bytes), expected);
  }
}

TEST(PickleValues, SetsTakeValuesAndNothingElseDoes) {
  EXPECT_NE(value_refusal("](K\x01\x90."s).find("adds to a value that cannot hold it"),
            std::string::npos);
}

TEST(PickleValues, TheLastOfEqualKeysCounts) {
  const std::string bytes = "}(U\x01xK\x01U\x01yK\x02U\x01xK\x03u."s;
  const Pickle pickle =
      Pickle::parse({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, "FILE");
  EXPECT_EQ(pickle.find(pickle.root(), "x")->integer, 3);
  EXPECT_EQ(pickle.find(pickle.root(), "y")->integer, 2);
}

// Checkpoints of other years and other scripts name these.
TEST(PickleValues, KnownNames) {
  const struct {
    const char* module;
    std::vector<const char*> names;
    GlobalRole role;
  } known[] = {
      {"collections", {"OrderedDict"}, GlobalRole::kDict},
      {"yacs.config", {"CfgNode"}, GlobalRole::kDict},
      {"torch._utils", {"_rebuild_tensor", "_rebuild_tensor_v2"}, GlobalRole::kTensor},
      {"torch._utils", {"_rebuild_parameter"}, GlobalRole::kParameter},
      {"torch", {"Size"}, GlobalRole::kSize},
      {"torch",
       {"device", "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
        "uint8", "bool"},
       GlobalRole::kInert},
      {"argparse", {"Namespace"}, GlobalRole::kInert},
      {"builtins", {"set"}, GlobalRole::kInert},
      {"__builtin__", {"set"}, GlobalRole::kInert},
      {"numpy", {"dtype"}, GlobalRole::kInert},
      {"numpy.core.multiarray", {"scalar"}, GlobalRole::kInert},
      {"numpy._core.multiarray", {"scalar"}, GlobalRole::kInert},
      {"_codecs", {"encode"}, GlobalRole::kInert},
  };
  for (const auto& group : known) {
    for (const char* name : group.names) {
      SCOPED_TRACE(std::string(group.module) + "." + name);
      const KnownGlobal* found = find_known_global(group.module, name);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->role, group.role);
      EXPECT_EQ(find_known_global("torch.cuda", name), nullptr);
    }
  }
  EXPECT_EQ(find_known_global("torch.cuda", "HalfStorage")->dtype, DType::kF16);
  EXPECT_EQ(find_known_global("numpy.cuda", "HalfStorage"), nullptr);
}

// A pickle of more than 64 MB is none: mapped, so that only its ends take memory.
TEST(PickleValues, EndWithin64Megabytes) {
  constexpr size_t kMost = size_t{64} << 20, kMapped = kMost + 4096;
  void* const mapped =
      ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const bytes = static_cast<unsigned char*>(mapped);
  // One value of zeros that ends with the byte before the last.
  const auto parse = [&](size_t size) {
    const std::string start = "B" + little_endian(size - 6, 4);
    std::memcpy(bytes, start.data(), start.size());
    bytes[size - 1] = '.';
    return Pickle::parse({bytes, size}, "FILE").root().text.size();
  };
  EXPECT_EQ(parse(kMost), kMost - 6);
  EXPECT_NE(error_of([&] { parse(kMost + 1); }).find("FILE: its pickle ends too early"),
            std::string::npos);
  ::munmap(mapped, kMapped);
}

}  // namespace
}  // namespace vig::test
