"""Training from Python: starts the program vig-train and reads what it writes."""

import csv
import os
import shutil
import signal
import subprocess
import sys

from vig._engine import Error, UsageError


class TrainingRun:
    """A finished run: paths of its files, and its metrics.

    folder, best, last: paths. metrics: a dict of values per validation. log: the lines that the program printed.
    """

    def __init__(self, folder, log=()):
        self.folder = os.fspath(folder)
        self.best = os.path.join(self.folder, "best.safetensors")
        self.last = os.path.join(self.folder, "last.safetensors")
        self.log = list(log)
        self.metrics = _read_metrics(os.path.join(self.folder, "metrics.csv"))

    def __repr__(self):
        return f"TrainingRun({self.folder!r}, {len(self.metrics)} validations)"


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None if text == "" else text


def _read_metrics(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None


def _find_program(named):
    if named is not None:
        return os.fspath(named)
    for folder in (os.path.join(sys.prefix, "bin"), os.path.dirname(sys.executable)):
        program = os.path.join(folder, "vig-train")
        if os.access(program, os.X_OK):
            return program
    program = shutil.which("vig-train")
    if program is None:
        raise UsageError(
            "training needs the program vig-train, which is neither beside Python nor in PATH; "
            "name it with program=, or build it with -DVIG_TORCH=ON"
        )
    return program


def _arguments(options):
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield option
        elif name == "set":  # may be repeated, once for each field
            for one in value if isinstance(value, (list, tuple)) else [value]:
                yield option
                yield str(one)
        elif isinstance(value, (list, tuple)):
            yield option
            yield ",".join(str(one) for one in value)
        else:
            yield option
            yield os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def train(data, out, *, on_line=None, program=None, **options):
    """Trains on the images of `data`, writes the run to the folder `out`, and returns a TrainingRun.

    `options` are those of `vig train`, with _ for -: train("photos", "run", preset="small", epochs=3).
    `on_line` is called with each line that the program prints; an exception from it ends the run, which the same
    call resumes. `program` is the path of vig-train.
    """
    command = [_find_program(program), "train", os.fspath(data), "--out", os.fspath(out)]
    command.extend(_arguments(options))
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise Error(f"{command[0]}: {error.strerror}") from None
    log = []
    try:
        with process.stdout as lines:
            for line in lines:
                log.append(line.rstrip("\n"))
                if on_line is not None:
                    on_line(log[-1])
    except BaseException:
        # As Ctrl-C does: it writes a checkpoint and ends.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    status = process.wait()
    if status != 0:
        sentences = [line for line in log if line.startswith("vig")]
        sentence = sentences[-1].split(": ", 1)[-1] if sentences else f"vig-train ended with status {status}"
        raise (UsageError if status == 2 else Error)(sentence)
    return TrainingRun(out, log)
