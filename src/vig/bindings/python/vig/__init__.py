"""ViG from Python: open a weight file, run it on images, read results.

    import vig

    model = vig.load("model.safetensors")
    prediction = model("cat.jpg")
    print(prediction.name, prediction.probability)

An image is a path, the bytes of a file, an array of uint8 (RGB [height, width, 3], RGBA [height, width, 4], gray
[height, width] or [height, width, 1]) or a PIL image; a list of images gives a list of results. Results are
bit-identical to those of the program vig. Errors raise vig.Error with one sentence. Any number of threads may share a
model; other Python threads run while a network runs.
"""

import os as _os

from vig._engine import (
    Attention,
    ClassScore,
    Classification,
    Detection,
    Error,
    Evidence,
    Model,
    Segmentation,
    Session,
    UsageError,
    __version__,
    windows,
)
from vig import _engine

__all__ = [
    "Attention",
    "ClassScore",
    "Classification",
    "Detection",
    "Error",
    "Evidence",
    "Model",
    "Segmentation",
    "Session",
    "TrainingRun",
    "UsageError",
    "load",
    "train",
    "windows",
]


def load(file=None, *, task="classify", **options):
    """Opens a weight file (.safetensors, or a PyTorch checkpoint), given by path or as bytes, or a model that
    comes with vig: "default", "segment" or "detect"; write "./default" for a file of that name. Without a file,
    or with an empty name, it opens the model that comes with vig for the task: "classify", "segment" or "detect".

    arch: model name, for a file that does not contain it. size: side of the network's input, 0: from the file.
    batch: largest batch, 0: chosen by the input size. threads: 0: the processors that affinity and CPU quotas
    allow. max_pixels: images with more pixels are rejected. ignore_orientation: ignore the EXIF orientation.
    precision: "int8" computes dense layers with integers, which is faster and nearly as accurate. float_layers:
    patterns of layers that stay float32 with int8.
    """
    name = "" if file is None else _os.fspath(file)  # the bytes of a file stay bytes
    if isinstance(name, str) and not name:
        if task not in ("classify", "segment", "detect"):
            raise UsageError(f"the task is {task!r}, expected 'classify', 'segment' or 'detect'")
        name = "default" if task == "classify" else task
    if isinstance(name, str) and name in ("default", "segment", "detect"):
        file = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), name + ".safetensors")
    return _engine.load(file, **options)


def __getattr__(name):
    # Training needs modules that take longer to import than a model to open.
    if name in ("train", "TrainingRun"):
        from vig import training

        globals()["train"] = training.train
        globals()["TrainingRun"] = training.TrainingRun
        return globals()[name]
    raise AttributeError(f"module 'vig' has no attribute '{name}'")
