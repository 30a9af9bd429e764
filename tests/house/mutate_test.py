"""tools/mutate.py makes the mutants it should, of code alone, and the same ones for the same seed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import mutants as maker  # noqa: E402
import mutate  # noqa: E402

SOURCE = '''// a < b && c == 1
#include <vector>
#define TWICE(x) \\
  ((x) * 2 + 1)
/* a < b; call(x, y); */
namespace vig {
using Table = std::array<int, 4>;
static_assert(sizeof(int) == 4, "a < b");
enum class Kind { kFirst = 1, kSecond = 2 };
struct Base {
  virtual ~Base() = default;
  virtual int size() const = 0;
};
template <typename T, int N = 3>
std::vector<std::vector<T>> make(const T&& x, const char* name) {
  const std::string text = "x < 3 && y(1, 2);";
  const char quote = '"', raw[] = R"(a + b == 2)";
  std::map<int, std::vector<T>> found;
  Table table{};
  return {{x}};
}
int work(int width, int height, Base* base) {
  int sum = width + height;
  if (sum < 10 && base != nullptr) sum -= 5;
  if (const int size = base->size(); size > 7) {
    resize(width, height);
    base->grid = Grid(height * 2);
  }
  switch (sum) {
    case 3:
      count(0x1F, 2.5f);
      break;
    default:
      ++sum;
  }
  for (int i = 0; i <= width; ++i) done(i);
  const auto call = [&](int a, int b) { note(a, -b); };
  fail("{} of {}", width, height);
  return static_cast<int>(sum % 8'000);
}
}  // namespace vig
'''


def found(source, kind):
    return [(one.line, source[one.start : one.end], one.text) for one in maker.mutants_of(source, "x.cpp") if one.kind == kind]


class Mutants(unittest.TestCase):
    def test_relations(self):
        self.assertEqual(found(SOURCE, "relation"), [
            (24, "<", "<="), (24, "!=", "=="), (25, ">", ">="), (36, "<=", "<"),
        ])

    def test_arithmetic(self):
        self.assertEqual(found(SOURCE, "arithmetic"), [
            (23, "+", "-"), (24, "-=", "+="), (27, "*", "/"), (39, "%", "*"),
        ])

    def test_constants(self):
        self.assertEqual(found(SOURCE, "constant"), [
            (24, "10", "11"), (24, "5", "6"), (25, "7", "8"), (27, "2", "3"), (31, "0x1F", "0x20"),
            (31, "2.5f", "3.5f"), (36, "0", "1"), (39, "8'000", "8001"),
        ])
        for text, expected in (("1", "2"), ("0", "1"), ("7u", "8u"), ("0b11", "0b100"), ("017", "020"), ("1e-3", "1.001"),
                               (".5", "1.5"), ("1.f", "2.0f"), ("1e300", None), ("0x1p3", None), ("1_km", None)):
            self.assertEqual(maker.next_number(text), expected, text)

    def test_conditions(self):
        self.assertEqual(found(SOURCE, "condition"), [
            (24, "sum < 10 && base != nullptr", "!(sum < 10 && base != nullptr)"),
            (24, "&&", "||"),
            (25, "size > 7", "!(size > 7)"),
        ])
        declared = "void f() { if (const int x = y()) g(); while (auto* p = next()) g(); if constexpr (a) g(); }"
        self.assertEqual(found(declared, "condition"), [])

    def test_statements(self):
        self.assertEqual([text for _, text, _ in found(SOURCE, "statement")], [
            "sum -= 5;", "resize(width, height);", "base->grid = Grid(height * 2);", "count(0x1F, 2.5f);", "++sum;",
            "done(i);", "note(a, -b);", 'fail("{} of {}", width, height);',
        ])
        self.assertEqual({new for _, _, new in found(SOURCE, "statement")}, {"{}"})
        declared = "void f() { int a; T b(1); std::mutex m; auto& c = d; A<B> e{1}; T* p = q; return g({1}).h(2); }"
        self.assertEqual(found(declared, "statement"), [])

    def test_arguments(self):
        self.assertEqual(found(SOURCE, "arguments"), [
            (26, "width, height", "height, width"), (31, "0x1F, 2.5f", "2.5f, 0x1F"),
        ])
        calls = "void f() { a(x.w, x.h, 3); b(1, 2); c(x, 2); d(x, x); e(p->a(),\n q->b()); g<A, B>(m::k, n::k);"
        calls += " std::min(a, b); swap(a, b); fail(a, b); }"
        self.assertEqual([text for _, _, text in found(calls, "arguments")], [
            "x.h, x.w", "2, 1", "q->b(),\n p->a()", "n::k, m::k",
        ])

    def test_whole_lines_are_shown(self):
        one = [one for one in maker.mutants_of(SOURCE, "x.cpp") if one.kind == "arguments"][0]
        self.assertEqual((one.before, one.after), ("    resize(width, height);", "    resize(height, width);"))

    def test_every_mutant_changes_its_file(self):
        mutants = maker.mutants_of(SOURCE, "x.cpp")
        texts = {SOURCE[: one.start] + one.text + SOURCE[one.end :] for one in mutants}
        self.assertEqual(len(texts), len(mutants))
        self.assertNotIn(SOURCE, texts)
        self.assertEqual(len({one.id for one in mutants}), len(mutants))

    def test_a_sample_follows_from_its_seed(self):
        mutants = maker.mutants_of(SOURCE, "x.cpp")
        five = maker.sample(mutants, 5, 1)
        self.assertEqual(five, maker.sample(list(reversed(mutants)), 5, 1))
        self.assertEqual(five, maker.sample(mutants, 8, 1)[:5])
        self.assertNotEqual(five, maker.sample(mutants, 5, 2))
        self.assertEqual(len(maker.sample(mutants, 0, 1)), len(mutants))


# As ninja prints them, shortened.
COMMANDS = """\
cmake -E env A=1 /usr/bin/ccache /usr/bin/c++ -O3 -include pch.hxx -MD -MT a/x.o -MF a/x.o.d -o a/x.o -c /t/x.cpp
/usr/bin/c++ -O3 -DNDEBUG -MD -MT a/y.o -MF a/y.o.d -o a/y.o -c /t/y.cpp
/usr/bin/c++ -O3 -MD -MT p/y.o -MF p/y.o.d -o p/y.o -c /t/y.cpp
: && /usr/bin/cmake -E rm -f liba.a && /usr/bin/ar qc liba.a  a/x.o a/y.o && /usr/bin/ranlib liba.a && :
: && /usr/bin/c++ -O3  t/x_test.o -o bin/a_test  liba.a  libm.so && :
: && /usr/bin/c++ -O3  p/main.o p/y.o -o bin/program  libm.so && :
"""


class Commands(unittest.TestCase):
    commands = mutate.Commands(COMMANDS, "/t")

    def test_a_mutant_is_compiled_beside_the_build(self):
        self.assertEqual(self.commands.compile_mutant("/t/x.cpp", "new"), [
            ("a/x.o", "new/0.o", "/usr/bin/c++ -O3 -include pch.hxx -o new/0.o -c /t/x.cpp"),
        ])
        self.assertEqual(self.commands.compile_mutant("/t/y.cpp", "new"), [
            ("a/y.o", "new/0.o", "/usr/bin/c++ -O1 -DNDEBUG -o new/0.o -c /t/y.cpp"),
            ("p/y.o", "new/1.o", "/usr/bin/c++ -O1 -o new/1.o -c /t/y.cpp"),
        ])
        self.assertEqual(self.commands.compile_mutant("/t/z.cpp", "new"), [])

    def test_its_group_is_compiled_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            group = pathlib.Path(folder) / "groups/a/0.cpp"
            group.parent.mkdir(parents=True)
            group.write_text('#include "a/x.cpp"\n#include "a/y.cpp"\n')
            commands = mutate.Commands(f"/usr/bin/c++ -O3 -include pch.hxx -o a/0.o -c {group}\n", "/t")
        for source in ("/t/src/a/x.cpp", "/t/src/a/y.cpp"):
            self.assertEqual(commands.compile_mutant(source, "new"), [
                ("a/0.o", "new/0.o", f"/usr/bin/c++ -O3 -include pch.hxx -o new/0.o -c {group}"),
            ])
        self.assertEqual(commands.compile_mutant("/t/src/a/z.cpp", "new"), [])

    def test_it_is_linked_instead_of_the_original(self):
        self.assertEqual(self.commands.link_mutant({"a/x.o": "new/0.o"}, "-L"), {
            "bin/a_test": "/usr/bin/c++ -O3  t/x_test.o new/0.o -o bin/a_test.mutant -L  liba.a  libm.so",
        })
        linked = self.commands.link_mutant({"a/y.o": "new/0.o", "p/y.o": "new/1.o"}, "")
        self.assertEqual(sorted(linked), ["bin/a_test", "bin/program"])
        self.assertIn(" p/main.o new/1.o -o bin/program.mutant ", linked["bin/program"])


class Tree(unittest.TestCase):
    def test_every_folder_has_tests(self):
        for source in (ROOT / "src/vig").rglob("*.cpp"):
            tests = mutate.tests_of(str(source.relative_to(ROOT)))
            self.assertTrue(list((ROOT / "tests" / tests).glob("*_test.*")), source)
        self.assertEqual(mutate.tests_of("src/vig/kernels/reference/gla.cpp"), "kernels")
        self.assertEqual(mutate.tests_of("src/vig/train/processes/agreement.cpp"), "train")
        self.assertEqual(mutate.tests_of("src/vig/cli/serve/serve.cpp"), "serve")

    def test_brackets_of_the_real_code_are_understood(self):
        for source in (ROOT / "src/vig/base").glob("*.cpp"):
            for one in maker.mutants_of(source.read_text(), source.name):
                if one.kind == "statement":
                    self.assertRegex(one.before, r";", one)
                self.assertNotIn("template", one.before, one)

    def run_tool(self, *arguments):
        command = [sys.executable, "-B", str(ROOT / "tools/mutate.py"), *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_the_list_is_the_same_for_the_same_seed(self):
        first = self.run_tool("base", "--list", "--sample", "6", "--seed", "7")
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertEqual(sum(line.startswith("src/vig/base/") for line in first.stdout.split("\n")), 6)
        self.assertEqual(first.stdout, self.run_tool("base", "--list", "--sample", "6", "--seed", "7").stdout)
        self.assertNotEqual(first.stdout, self.run_tool("base", "--list", "--sample", "6", "--seed", "8").stdout)
        one_file = self.run_tool("base/shape.cpp", "--list", "--sample", "0").stdout
        self.assertTrue(all(line.startswith(("src/vig/base/shape.cpp:", "    ")) for line in one_file.splitlines()))

    def test_usage(self):
        self.assertIn("--sample", self.run_tool("--help").stdout)
        self.assertEqual(self.run_tool("base", "--sample", "-1").returncode, 2)
        nowhere = self.run_tool("nowhere", "--list")
        self.assertEqual((nowhere.returncode, nowhere.stderr), (2, "mutate.py: src/vig/nowhere holds no .cpp file\n"))


if __name__ == "__main__":
    unittest.main()
