"""What a call from Python costs beside the engine: call.py [--rounds N] [--model FILE] [--threads N] [--csv FILE]

Classifies the same pixels by the Python module and by libvig through ctypes, in one process and in turns, and
prints the median of the differences; what ctypes itself takes is measured, too, and left out of the time of C.
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


class Picture(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("width", ctypes.c_int),
                ("height", ctypes.c_int), ("stride", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("batch", ctypes.c_int),
                ("size", ctypes.c_int), ("max_pixels", ctypes.c_int64), ("ignore_orientation", ctypes.c_int),
                ("arch", ctypes.c_char_p)]


class Library:
    """The same call through the C interface."""

    def __init__(self, path, model, threads, pixels):
        self.c = ctypes.CDLL(path)
        pointer = ctypes.c_void_p
        self.c.vig_last_error.restype = ctypes.c_char_p
        self.c.vig_classify.argtypes = [pointer, pointer, ctypes.c_size_t, ctypes.c_int, pointer]
        self.c.vig_result_values.argtypes = [pointer, ctypes.c_size_t, pointer, pointer, pointer]
        self.c.vig_free_result.argtypes = [pointer]
        options = Options()
        self.c.vig_init_options(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.threads = threads
        self.model = pointer()
        self.check(self.c.vig_open(os.fsencode(model), ctypes.byref(options), ctypes.byref(self.model)))
        self.pixels = np.ascontiguousarray(pixels)
        height, width, _ = pixels.shape
        self.picture = Picture(self.pixels.ctypes.data, pixels.size, width, height, 0)
        self.result = pointer()
        self.arguments = (self.model, ctypes.byref(self.picture), 1, 5, ctypes.byref(self.result))

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


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--model", default=os.path.join(root, "models", "default.safetensors"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--csv")
    options = parser.parse_args()
    pixels = np.random.default_rng(1).integers(0, 256, (72, 72, 3), np.uint8)
    model = vig.load(options.model, threads=options.threads)
    library = Library(os.environ["VIG_SHARED"], options.model, options.threads, pixels)
    def check():
        if model.classify(pixels).index != library.best():
            sys.exit("call.py: the two answers differ")

    check()
    python, c, bare = [], [], []
    for i in range(options.rounds):
        turns = [(python, lambda: model.classify(pixels)), (c, library.classify), (bare, library.nothing)]
        for times, call in turns if i % 2 == 0 else turns[::-1]:
            times.append(timed(call))
    check()
    photo = os.path.join(root, "tests", "data", "image", "photos", "cat_progressive_320x240.jpg")
    starts = []
    for _ in range(options.starts):
        done = subprocess.run([sys.executable, "-c", FIRST, options.model, str(options.threads), photo],
                              stdout=subprocess.PIPE, text=True, check=True)
        starts.append([float(line) for line in done.stdout.split()])
    rows = []
    for i, clock in enumerate(("passed", "of the processor")):
        # Differences of neighbours in time, so that a machine that slows down changes nothing.
        extra = [p[i] - (e[i] - b[i]) for p, e, b in zip(python, c, bare)]
        rows += [("call from Python", clock, statistics.median(one[i] for one in python), "us"),
                 ("the same from C", clock, statistics.median(e[i] - b[i] for e, b in zip(c, bare)), "us"),
                 ("Python beside the engine", clock, statistics.median(extra), "us"),
                 ("import, open and first answer beside a later answer", clock,
                  statistics.median(one[i] for one in starts), "ms")]
    print("| what, median | time | |\n|---|---|---|")
    for what, clock, value, unit in rows:
        print(f"| {what} | {value:.1f} {unit} | {clock} |")
    if options.csv:
        with open(options.csv, "w", encoding="utf-8") as file:
            file.write("what,clock,value,unit\n")
            file.writelines(f'"{what}",{clock},{value:.3f},{unit}\n' for what, clock, value, unit in rows)


if __name__ == "__main__":
    main()
