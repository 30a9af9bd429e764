"""The package as a whole: its wheel, its stubs, what importing costs, training, and its page of the docs."""

import ast
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import support
import vig

PACKAGE = os.path.join(support.SOURCE, "src", "vig", "bindings", "python", "vig")


class Wheel(unittest.TestCase):
    def test_pip_installs_without_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "installed")
            command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-index"]
            command += ["--no-deps", "--no-cache-dir", "--target", target, support.SOURCE]
            command += ["--config-settings=build-dir=" + os.environ["VIG_BUILD_DIR"]]
            if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
                self.skipTest("there is no pip")
            environment = dict(os.environ, PIP_ROOT_USER_ACTION="ignore", PIP_NO_INPUT="1")
            result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            script = f"import vig; print(vig.__file__); print(vig.load()({support.photo('cat_chelsea.png')!r}).name)"
            environment["PYTHONPATH"] = target
            shown = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, env=environment
            )
            self.assertEqual(shown.stdout, os.path.join(target, "vig", "__init__.py") + "\ncat\n", shown.stderr)
            self.assertTrue(os.path.exists(os.path.join(target, "vig", "py.typed")))
            self.check_example(folder, environment)

    # The program below examples/ says what the command line says.
    def check_example(self, folder, environment):
        script = os.path.join(support.SOURCE, "examples", "classify.py")
        model = os.path.join(support.SOURCE, "models", "default.safetensors")

        def run(*arguments):
            command = [sys.executable, "-B", script, *arguments]
            return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)

        result = run(model, support.photo("cat_chelsea.png"))
        shown = support.results("classify", "-m", model, "--top", "3", support.photo("cat_chelsea.png"))
        lines = [f"{100 * one['probability']:6.2f} %  {one['index']}  {one['name']}" for one in shown[0]["classes"]]
        self.assertEqual(result.stdout.splitlines(), lines, result.stderr)
        missing = run("nothing.safetensors", "nothing.jpg")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("nothing.safetensors", missing.stderr)
        self.assertEqual(run().returncode, 2)

    def test_the_same_files_make_the_same_wheel(self):
        sys.path.insert(0, os.path.dirname(PACKAGE))
        import wheel_builder

        settings = {"build-dir": os.environ["VIG_BUILD_DIR"]}
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            names = [wheel_builder.build_wheel(folder, settings) for folder in (one, two)]
            self.assertEqual(names[0], names[1])
            self.assertEqual(*(support.read(os.path.join(folder, names[0])) for folder in (one, two)))
            with zipfile.ZipFile(os.path.join(one, names[0])) as wheel:
                self.assertIsNone(wheel.testzip())
                record = wheel.read(f"vig-{vig.__version__}.dist-info/RECORD").decode()
            self.assertEqual(len(record.splitlines()), len(zipfile.ZipFile(os.path.join(one, names[0])).namelist()))


class Stubs(unittest.TestCase):
    def test_name_everything_that_is_there_and_nothing_else(self):
        with open(os.path.join(PACKAGE, "__init__.pyi"), encoding="utf-8") as file:
            stubs = ast.parse(file.read())
        declared = {node.name for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(declared, set(vig.__all__))
        for node in stubs.body:
            if not isinstance(node, ast.ClassDef) or node.name in ("Error", "UsageError", "TrainingRun"):
                continue
            members = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            kind = getattr(vig, node.name)
            there = {name for name in vars(kind) if not name.startswith("_") or name == "__call__"}
            self.assertEqual(members, there, node.name)


class Cost(support.WithModels):
    def test_importing_imports_little(self):
        script = "import sys, vig; print([name for name in ('numpy', 'subprocess', 'csv') if name in sys.modules])"
        result = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True)
        self.assertEqual(result.stdout, "[]\n", result.stderr)

    # Beside the engine: of calls that end before it does any work. The bound is far above what a call takes,
    # for machines under load.
    def test_a_call_costs_little(self):
        model = vig.load(self.classifier)
        best = float("inf")
        for _ in range(200):
            start = time.perf_counter()
            model.embed([])
            best = min(best, time.perf_counter() - start)
        self.assertLess(best, 500e-6)


class Training(support.WithModels):
    def setUp(self):
        self.program = os.path.join(os.path.dirname(support.BINARY), "vig-train")
        if not os.path.exists(self.program):
            self.skipTest("vig-train is not built")
        self.data = os.path.join(self.folder, "data")
        for name, source in (("cat", "cat_chelsea.png"), ("rose", "flower.webp")):
            os.makedirs(os.path.join(self.data, name), exist_ok=True)
            for i in range(4):
                path = os.path.join(self.data, name, f"{i}{os.path.splitext(source)[1]}")
                with open(path, "wb") as out:
                    out.write(support.read(support.photo(source)))

    def options(self):
        return {"program": self.program, "preset": "small", "model": "test_vig", "size": 32, "batch": 4, "epochs": 2}

    def test_a_run_gives_its_files_and_figures(self):
        lines = []
        out = os.path.join(self.folder, "run")
        run = vig.train(self.data, out, on_line=lines.append, **self.options())
        self.assertEqual(lines, run.log)
        self.assertTrue(any(line.startswith("best: ") for line in lines), lines)
        self.assertEqual(len(run.metrics), 2)
        self.assertEqual(run.metrics[-1]["epoch"], 2)
        self.assertEqual(vig.load(run.best).classes, ["cat", "rose"])
        self.assertEqual(repr(vig.TrainingRun(out)), f"TrainingRun({out!r}, 2 validations)")

    def test_what_goes_wrong_is_a_sentence(self):
        with self.assertRaisesRegex(vig.Error, "nowhere"):
            vig.train(os.path.join(self.folder, "nowhere"), os.path.join(self.folder, "none"), **self.options())
        with self.assertRaises(vig.UsageError):
            vig.train(self.data, os.path.join(self.folder, "none"), **dict(self.options(), no_such_option=1))
        with self.assertRaisesRegex(vig.Error, "missing"):
            vig.train(self.data, self.folder, program=os.path.join(self.folder, "missing"))

    def test_an_exception_of_the_caller_ends_the_run(self):
        def stop(line):
            raise KeyError(line)

        with self.assertRaises(KeyError):
            vig.train(self.data, os.path.join(self.folder, "ended"), on_line=stop, **self.options())


class Docs(unittest.TestCase):
    # The blocks of the page, one after the other in one program, in a folder with the images of examples/.
    def test_the_code_of_the_page_runs(self):
        with open(os.path.join(support.SOURCE, "docs", "python.md"), encoding="utf-8") as file:
            page = file.read()
        blocks = re.findall(r"(<!-- not run: [^\n]*-->\n)?```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", page, re.S)
        self.assertGreaterEqual(len(blocks), 5)
        script = "\n".join(code for excused, code, _ in blocks if not excused)
        expected = "".join(output for excused, _, output in blocks if not excused)
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(os.path.join(support.SOURCE, "examples")):
                if name.endswith(".jpg"):
                    os.symlink(os.path.join(support.SOURCE, "examples", name), os.path.join(folder, name))
            result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, expected)


if __name__ == "__main__":
    support.main()
