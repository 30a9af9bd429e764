"""What a call from Python costs beside the engine: call.py [--rounds N] [--pairs N] [--starts N] [--model FILE]
[--threads N] [--csv FILE]

Classifies the same pixels by the Python module and by libvig through ctypes, in one process and in turns, and
prints the median of the differences; what ctypes itself takes is measured, too, and left out of the time of C.
Two models of equal weights differ by about 1 % of a call, by where they lie in memory. So both are opened anew
for every pair, the range over the pairs is printed, and beside the model's own input size a small one is measured,
where 1 % is little: the work of Python is the same for both.
Then starts new processes that import the module, open the model and classify once, and prints what that takes
beside a later call. Both as time passed, and as time of the processor, which other work hardly changes.
PYTHONPATH leads to the module, VIG_SHARED to libvig.so.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import vig


class Image(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("width", ctypes.c_int),
                ("height", ctypes.c_int), ("stride", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("batch", ctypes.c_int),
                ("size", ctypes.c_int), ("max_pixels", ctypes.c_int64), ("ignore_orientation", ctypes.c_int),
                ("arch", ctypes.c_char_p)]


class Library:
    """The same call through the C interface."""

    def __init__(self, path, model, threads, size, pixels):
        self.c = ctypes.CDLL(path)
        pointer = ctypes.c_void_p
        self.c.vig_last_error.restype = ctypes.c_char_p
        self.c.vig_classify.argtypes = [pointer, pointer, ctypes.c_size_t, ctypes.c_int, pointer]
        self.c.vig_result_values.argtypes = [pointer, ctypes.c_size_t, pointer, pointer, pointer]
        self.c.vig_free_result.argtypes = [pointer]
        options = Options()
        self.c.vig_init_options(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.threads, options.size = threads, size
        self.model = pointer()
        self.check(self.c.vig_open(os.fsencode(model), ctypes.byref(options), ctypes.byref(self.model)))
        self.pixels = np.ascontiguousarray(pixels)
        height, width, _ = pixels.shape
        self.image = Image(self.pixels.ctypes.data, pixels.size, width, height, 0)
        self.result = pointer()
        self.c.vig_close.argtypes = [pointer]
        self.arguments = (self.model, ctypes.byref(self.image), 1, 5, ctypes.byref(self.result))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.c.vig_last_error().decode())

    def classify(self):
        status = self.c.vig_classify(*self.arguments)
        self.c.vig_free_result(self.result)
        return status

    def nothing(self):
        """Two calls that do nothing, with as many arguments."""
        self.c.vig_result_values(None, 0, None, None, None)
        self.c.vig_free_result(None)

    def close(self):
        self.c.vig_close(self.model)

    def best(self):
        self.check(self.c.vig_classify(*self.arguments))
        self.c.vig_result_scores.restype = ctypes.POINTER(ctypes.c_int)
        self.c.vig_result_scores.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        count = ctypes.c_size_t()
        label = self.c.vig_result_scores(self.result, 0, ctypes.byref(count))[0]
        self.c.vig_free_result(self.result)
        return label


CLOCKS = [time.perf_counter_ns, time.thread_time_ns]


def timed(call):
    """Microseconds that passed, and those of this thread's processor."""
    start = [clock() for clock in CLOCKS]
    call()
    return [(clock() - begin) / 1000 for clock, begin in zip(CLOCKS, start)]


FIRST = """
import sys, time
clocks = [time.perf_counter, time.process_time]
begin = [clock() for clock in clocks]
import vig
model = vig.load(sys.argv[1], threads=int(sys.argv[2]))
with open(sys.argv[3], "rb") as file:
    data = file.read()
model(data)
first = [clock() - start for clock, start in zip(clocks, begin)]
later = []
for _ in range(21):
    begin = [clock() for clock in clocks]
    model(data)
    later.append([clock() - start for clock, start in zip(clocks, begin)])
for i in range(2):
    print(1000 * (first[i] - sorted(one[i] for one in later)[10]))
"""


SMALL = 32  # the small input, in pixels of a side


def measure(options, size):
    """Of each pair of models: the medians of (Python, C, Python beside C), for both clocks."""
    pixels = np.random.default_rng(1).integers(0, 256, (72, 72, 3), np.uint8)
    pairs = []
    for pair in range(options.pairs):
        openers = [lambda: vig.load(options.model, threads=options.threads, size=size),
                   lambda: Library(os.environ["VIG_SHARED"], options.model, options.threads, size, pixels)]
        # Opened in turns of order, as the second one lies elsewhere in memory.
        opened = {which: openers[which]() for which in ((0, 1) if pair % 2 == 0 else (1, 0))}
        model, library = opened[0], opened[1]

        def check():
            if model.classify(pixels).index != library.best():
                sys.exit("call.py: the two results differ")

        check()
        python, c, bare = [], [], []
        turns = [(python, lambda: model.classify(pixels)), (c, library.classify), (bare, library.nothing)]
        for i in range(options.rounds):
            for times, call in turns if i % 2 == 0 else turns[::-1]:
                times.append(timed(call))
        check()
        library.close()
        # Differences of neighbours in time, so that a machine that slows down changes nothing.
        rounds = [[(p[i], e[i] - b[i], p[i] - (e[i] - b[i])) for p, e, b in zip(python, c, bare)]
                  for i in range(len(CLOCKS))]
        pairs.append([[statistics.median(column) for column in zip(*clock)] for clock in rounds])
    return pairs


def first_results(options, root):
    photo = os.path.join(root, "tests", "fixtures", "image", "photos", "cat_progressive_320x240.jpg")
    starts = []
    for _ in range(options.starts):
        done = subprocess.run([sys.executable, "-c", FIRST, options.model, str(options.threads), photo],
                              stdout=subprocess.PIPE, text=True, check=True)
        starts.append([float(line) for line in done.stdout.split()])
    return starts


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--model", default=os.path.join(root, "models", "default.safetensors"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv")
    options = parser.parse_args()
    sizes = {"": measure(options, 0), f", input {SMALL}": measure(options, SMALL)}
    starts = first_results(options, root)
    rows = []
    for i, clock in enumerate(("passed", "of the processor")):
        for size, pairs in sizes.items():
            for k, what in enumerate(("call from Python", "the same from C", "Python beside the engine")):
                rows.append((what + size, clock, [pair[i][k] for pair in pairs], "us"))
        rows.append(("import, open and first result beside a later result", clock, [one[i] for one in starts], "ms"))
    print("| what | median | range | |\n|---|---|---|---|")
    for what, clock, values, unit in rows:
        print(f"| {what} | {statistics.median(values):.1f} {unit} | {min(values):.1f} to {max(values):.1f} | {clock} |")
    if options.csv:
        with open(options.csv, "w", encoding="utf-8") as file:
            file.write("what,clock,median,smallest,largest,unit\n")
            file.writelines(
                f'"{what}",{clock},{statistics.median(values):.3f},{min(values):.3f},{max(values):.3f},{unit}\n'
                for what, clock, values, unit in rows)


if __name__ == "__main__":
    main()
