"""tools/coverage.py on a made-up tree of three files."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = {
    "base/a.h": "int g(int x);\ninline int h(int x) {\n  if (x > 5) return 1;\n  return 2;\n}\n",
    "base/a.cpp": '#include "a.h"\nint g(int x) {\n  if (x > 1)\n    return h(x);\n  return 7;\n}\n',
    "cli/main.cpp": '#include "../base/a.h"\nint main() { return g(9) + h(1) - 3; }\n',
    "data/never.cpp": "int never() {\n  return 3;\n}\n",
}


@unittest.skipUnless(shutil.which("g++") and shutil.which("gcov"), "needs g++ and gcov")
class Coverage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        tree = os.path.realpath(self.folder.name)
        self.build = os.path.join(tree, "build")
        self.script = os.path.join(tree, "tools", "coverage.py")
        objects = os.path.join(self.build, "src", "vig", "objects")
        os.makedirs(objects)
        os.makedirs(os.path.dirname(self.script))
        shutil.copy(os.path.join(ROOT, "tools", "coverage.py"), self.script)
        for name, text in FILES.items():
            path = os.path.join(tree, "src", "vig", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        sources = [os.path.join(tree, "src", "vig", name) for name in FILES if name.endswith(".cpp")]
        for source in sources:
            target = os.path.basename(source) + ".o"
            subprocess.run(
                ["g++", "--coverage", "-fprofile-abs-path", "-c", source, "-o", target], cwd=objects, check=True
            )
        subprocess.run(["g++", "--coverage", "a.cpp.o", "main.cpp.o", "-o", "program"], cwd=objects, check=True)
        subprocess.run([os.path.join(objects, "program")], check=True)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, "-B", self.script, *arguments], capture_output=True, text=True)

    def test_counts_each_line_once_and_files_that_never_ran(self):
        result = self.run_script(self.build)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "| folder | files | lines | covered |",
                "|---|---|---|---|",
                "| base | 2 | 7 | 85.7 % |",  # h is in two objects
                "| cli | 1 | 1 | 100.0 % |",
                "| data | 1 | 2 | 0.0 % |",
                "| all | 4 | 10 | 70.0 % |",
            ],
        )
        with open(os.path.join(self.build, "coverage.csv"), encoding="utf-8") as table:
            self.assertIn("base/a.cpp,4,3\n", table.readlines())

    def test_refuses_a_folder_without_counters(self):
        result = self.run_script(os.path.dirname(self.script))
        self.assertEqual(result.returncode, 1)
        self.assertIn("VIG_INSTRUMENT=coverage", result.stderr)


if __name__ == "__main__":
    unittest.main()
