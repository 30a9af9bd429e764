#include "vig/weights/pickle.h"

#include <string>

#include "support/errors.h"
#include "weights/torch_bytes.h"

namespace vig::test {
namespace {

using Kind = Pickle::Kind;
using namespace std::string_literals;

// The bytes must outlive the pickle, which points into them.
struct Parsed {
  explicit Parsed(std::string text) : bytes(std::move(text)) {}

  std::string bytes;
  Pickle pickle =
      Pickle::parse({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, "FILE");
};

std::string parsing_refusal(const std::string& bytes) {
  const std::string message = error_of([&] { Parsed{bytes}; });
  EXPECT_TRUE(message.starts_with("FILE: ")) << message;
  return message;
}

TEST(Pickle, Scalars) {
  EXPECT_EQ(Parsed("K\x07."s).pickle.root().integer, 7);
  EXPECT_EQ(Parsed("M\x01\x02."s).pickle.root().integer, 0x201);
  EXPECT_EQ(Parsed("J\xff\xff\xff\xff."s).pickle.root().integer, -1);
  EXPECT_EQ(Parsed("\x8a\x00."s).pickle.root().integer, 0);
  EXPECT_EQ(Parsed("\x8a\x01\xff."s).pickle.root().integer, -1);
  EXPECT_EQ(Parsed("\x8a\x02\xff\x00."s).pickle.root().integer, 255);
  EXPECT_EQ(Parsed(PickleBytes().integer(INT64_MIN).stop()).pickle.root().integer, INT64_MIN);
  EXPECT_EQ(Parsed("\x8b\x01\x00\x00\x00\x05."s).pickle.root().integer, 5);
  EXPECT_EQ(Parsed("I-12\n."s).pickle.root().integer, -12);
  EXPECT_EQ(Parsed("L34L\n."s).pickle.root().integer, 34);
  EXPECT_EQ(Parsed("F1.5\n."s).pickle.root().real, 1.5);
  EXPECT_EQ(Parsed("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s).pickle.root().real, 1.5);
  EXPECT_EQ(Parsed("N."s).pickle.root().kind, Kind::kNone);
  EXPECT_EQ(Parsed("\x88."s).pickle.root().integer, 1);
  EXPECT_EQ(Parsed("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s).pickle.root().kind,
            Kind::kOpaque);
}

TEST(Pickle, Texts) {
  for (const std::string& bytes :
       {"X\x02\x00\x00\x00hi."s, "U\x02hi."s, "T\x02\x00\x00\x00hi."s, "\x8c\x02hi."s,
        "\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."s, "Vhi\n."s}) {
    const Parsed parsed(bytes);
    EXPECT_EQ(parsed.pickle.root().kind, Kind::kText);
    EXPECT_EQ(parsed.pickle.root().text, "hi");
  }
  for (const std::string& bytes :
       {"C\x02hi."s, "B\x02\x00\x00\x00hi."s, "\x8e\x02\x00\x00\x00\x00\x00\x00\x00hi."s,
        "\x96\x02\x00\x00\x00\x00\x00\x00\x00hi."s}) {
    EXPECT_EQ(Parsed(bytes).pickle.root().kind, Kind::kBytes);
  }
}

TEST(Pickle, ContainersAndMemo) {
  // {"a": [1, 2], "b": (1,)} with the 1 recalled from the memo, protocol 4 with a frame.
  const Parsed parsed(
      "\x80\x04\x95\x15\x00\x00\x00\x00\x00\x00\x00}(U\x01"
      "a](K\x01q\x05K\x02"
      "eU\x01"
      "bh\x05\x85u."s);
  const Pickle& pickle = parsed.pickle;
  const auto* list = pickle.find(pickle.root(), "a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(pickle[list->items[1]].integer, 2);
  const auto* tuple = pickle.find(pickle.root(), "b");
  ASSERT_NE(tuple, nullptr);
  EXPECT_EQ(tuple->items[0], list->items[0]);
  EXPECT_EQ(pickle.find(pickle.root(), "c"), nullptr);
  EXPECT_EQ(parsed.pickle.bytes_read(), parsed.bytes.size());
}

TEST(Pickle, DictionariesThatAreClasses) {
  const Parsed pairs(PickleBytes()
                         .global("collections", "OrderedDict")
                         .raw("(](](")
                         .text("a")
                         .raw("K\x05"
                              "eetR")
                         .stop());
  const auto* value = pairs.pickle.find(pairs.pickle.root(), "a");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->integer, 5);

  const Parsed config(PickleBytes()
                          .global("yacs.config", "CfgNode")
                          .raw(")\x81}b")
                          .text("lr")
                          .raw("K\x01s")
                          .stop());
  EXPECT_NE(config.pickle.find(config.pickle.root(), "lr"), nullptr);
}

TEST(Pickle, InertObjectsAreAllowedAndNeverMade) {
  const Parsed numpy(PickleBytes()
                         .global("numpy.core.multiarray", "scalar")
                         .global("numpy", "dtype")
                         .raw("(U\x02"
                              "f8\x89\x88tR(K\x03NtbC\x02xy\x86R")
                         .stop());
  EXPECT_EQ(numpy.pickle.root().kind, Kind::kCall);
  const Parsed arguments(
      PickleBytes().global("argparse", "Namespace").raw(")\x81}").text("lr").raw("K\x01sb").stop());
  EXPECT_EQ(arguments.pickle.root().kind, Kind::kCall);
  EXPECT_EQ(arguments.pickle.root().global->name, "Namespace");
}

TEST(Pickle, AnyOtherGlobalIsRefusedByName) {
  const std::pair<std::string, std::string> foreign[] = {
      {"posix", "system"},
      {"os", "system"},
      {"builtins", "eval"},
      {"__builtin__", "eval"},
      {"builtins", "getattr"},
      {"subprocess", "Popen"},
      {"torch", "load"},
      {"torch.storage", "_load_from_bytes"},
      {"torch.hub", "load"},
      {"numpy", "load"},
      {"torch.cuda", "Size"},
      {"collections", "OrderedDict.fromkeys"},
      {"argparse", "FileType"},
      {"torch", "FloatStorage.from_file"},
      {"torch._utils", "_rebuild_tensor_v2.__globals__"}};
  for (const auto& [module, name] : foreign) {
    const std::string full = "\"" + module + "." + name + "\"";
    SCOPED_TRACE(full);
    // Named alone, called, deep inside other values, by every opcode that can name it.
    const std::string line = module + "\n" + name + "\n";
    const PickleBytes stacked = PickleBytes(4).text(module).text(name).raw("\x93");
    for (const std::string& bytes :
         {PickleBytes().global(module, name).stop(),
          PickleBytes().global(module, name).raw("(").text("echo").raw("tR").stop(),
          PickleBytes().raw("}(").text("model").raw("](((").global(module, name).stop(),
          PickleBytes().raw("(").text("echo").raw("i" + line).stop(),
          PickleBytes().raw("(").global(module, name).text("echo").raw("o").stop(),
          PickleBytes().raw("N").global(module, name).raw(")\x81").stop(), stacked.stop()}) {
      EXPECT_NE(parsing_refusal(bytes).find(full), std::string::npos);
    }
  }
}

TEST(Pickle, ControlCharactersInNamesDoNotReachTheTerminal) {
  const std::string message = parsing_refusal(PickleBytes().global("o\x1b[2Js", "x\ty").stop());
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_NE(message.find("\\x1b"), std::string::npos);
}

TEST(Pickle, OpcodesWithoutUseForDataAreRefused) {
  for (const std::string& op : {"\x82\x01"s, "\x83\x01\x00"s, "\x84\x01\x00\x00\x00"s, "Pid\n"s,
                                "\x97"s, "\x98"s, "\x00"s, "\xff"s}) {
    parsing_refusal(op + ".");
  }
}

TEST(Pickle, MalformedPicklesAreRefused) {
  const std::string cases[] = {
      "",                                         // nothing
      ".",                                        // stop without a value
      "N",                                        // no stop
      "0.",                                       // pop of nothing
      "R.",                                       // call of nothing
      "NNR.",                                     // call of a value
      "Nt.",                                      // no mark
      "1.",                                       // no mark
      "(e.",                                      // append to nothing
      "((e.",                                     // append to a mark
      "N(e.",                                     // append to None
      "](Nu.",                                    // items for a list
      "}(Nu.",                                    // odd number of items
      "}N(s.",                                    // mark where a value should be
      "h\x00."s,                                  // memo never stored
      "j\xff\xff\xff\xff.",                       // the same, far away
      "q\x00N."s,                                 // memo of nothing
      "\x94.",                                    // the same
      "X\xff\xff\xff\xffhi.",                     // text beyond the end
      "\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi.",  // the same by 64 bits
      "\x8e\x00\x00\x00\x00\x00\x00\x00\x80hi."s,
      "\x8b\xff\xff\xff\x7f.",                               // integer of 2 GB
      "\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",              // frame beyond the end
      "\x80\x06N.",                                          // protocol of the future
      "cposix\n",                                            // global cut short
      "K\x01K\x02\x93.",                                     // global named by numbers
      "Iabc\n.",                                             // not a number
      "Fx\n.",                                               //
      "I99999999999999999999\n.",                            //
      "ctorch\nFloatStorage\n)R.",                           // a type called
      "ctorch\nSize\n)R.",                                   // a size of nothing
      "ccollections\nOrderedDict\n(](Ktuple",                //
      "ccollections\nOrderedDict\n(](K\x01K\x02"s + "etR.",  // pairs that are none
      "ccollections\nOrderedDict\nNR.",                      // arguments that are no tuple
  };
  for (const std::string& bytes : cases) {
    SCOPED_TRACE(testing::PrintToString(bytes));
    parsing_refusal(bytes);
  }
}

TEST(Pickle, TheLatestProtocolIsRead) {
  EXPECT_EQ(Parsed("\x80\x05K\x07."s).pickle.root().integer, 7);
}

// One tuple of 2000 values, with which a name is called again and again.
TEST(Pickle, ArgumentsCountEveryTime) {
  const auto calls = [](int count) {
    std::string bytes = "(" + std::string(2000, 'N') + "tq\x00"s + "0";
    bytes += "ctorch._utils\n_rebuild_tensor_v2\nq\x01"s + "0";
    for (int i = 0; i < count; ++i) bytes += "h\x01h\x00R0"s;
    return bytes + "N.";
  };
  EXPECT_NO_THROW(Parsed{calls(1990)});
  EXPECT_NE(parsing_refusal(calls(2000)).find("holds more than 4000000 references"),
            std::string::npos);
}

TEST(Pickle, NothingIsAddedToATensor) {
  const auto tensor = PickleBytes().tensor("FloatStorage", "0", 6, 0, {6}, {1});
  parsing_refusal(PickleBytes(tensor).text("a").raw("Ns").stop());
  parsing_refusal(PickleBytes(tensor).raw("Na").stop());
}

TEST(Pickle, NestingHasNoDepth) {
  constexpr size_t kDepth = 500'000;
  // ((((...)))) by tuples of one, lists in lists, and half a million open marks.
  const Parsed tuples(")"s + std::string(kDepth, '\x85') + ".");
  EXPECT_EQ(tuples.pickle.root().kind, Kind::kTuple);
  const Parsed lists(std::string(kDepth, ']') + std::string(kDepth - 1, 'a') + ".");
  EXPECT_EQ(lists.pickle.root().kind, Kind::kList);
  parsing_refusal(std::string(kDepth, '(') + ".");
}

TEST(Pickle, LimitsOnValuesStackAndMarks) {
  parsing_refusal(std::string(3'000'000, 'N') + ".");
  std::string pops;
  for (int i = 0; i < 1'100'000; ++i) pops += "N0";
  parsing_refusal(pops + "N.");
  parsing_refusal("N"s + std::string(3'000'000, '2') + ".");
  parsing_refusal(std::string(3'000'000, '(') + ".");
}

TEST(Pickle, CyclesAreData) {
  const Parsed self(
      "]q\x00h\x00"
      "a."s);
  const auto& root = self.pickle.root();
  ASSERT_EQ(root.items.size(), 1u);
  EXPECT_EQ(&self.pickle[root.items[0]], &root);
  const Parsed dict(
      "}q\x00U\x01"
      "ah\x00s."s);
  EXPECT_EQ(dict.pickle.find(dict.pickle.root(), "a"), &dict.pickle.root());
  // A list that extends itself, and a dictionary that is its own key.
  Parsed(
      "]q\x00(h\x00h\x00h\x00"
      "e."s);
  Parsed("}q\x00h\x00h\x00s."s);
}

// One long argument list, stored once and called with a hundred thousand times.
TEST(Pickle, RepeatedCallsDoNotMultiplyMemory) {
  PickleBytes pickle;
  pickle.global("collections", "OrderedDict").raw("q\x01(](");
  for (int i = 0; i < 20'000; ++i) pickle.raw("N\x85q\x03"s + "0NN\x86");
  pickle.raw("etq\x02");
  for (int i = 0; i < 100'000; ++i) pickle.raw("h\x01h\x02R");
  parsing_refusal(pickle.stop());
}

TEST(Pickle, CutOrFlippedAnywhereNothingCrashes) {
  const std::string whole = PickleBytes()
                                .raw("}(")
                                .text("model")
                                .tensor("FloatStorage", "0", 6, 0, {2, 3}, {3, 1})
                                .text("epoch")
                                .raw("K\x05G\x3f\xf8\x00\x00\x00\x00\x00\x00\x86u"s)
                                .stop();
  EXPECT_TRUE(survives([&] { Parsed{whole}; }));
  for (size_t length = 0; length < whole.size(); ++length) parsing_refusal(whole.substr(0, length));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(byte);
      survives([&] { Parsed{bytes}; });
    }
  }
}

}  // namespace
}  // namespace vig::test
