"""ViG from Python: open a weight file, give it images, read answers.

    import vig

    model = vig.load("model.safetensors")
    answer = model("cat.jpg")
    print(answer.name, answer.probability)

An image is a path, the bytes of a file, an array of uint8 (RGB [height, width, 3], RGBA [height, width, 4], gray
[height, width] or [height, width, 1]) or an image of PIL; a list of images gives a list of results. Results are the
same bits as those of the program vig. Work that goes wrong raises vig.Error with one sentence. Models may be used
by any number of threads; while a network runs, other threads of Python run, too.
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
]


def load(file=None, *, task="classify", **options):
    """Opens a weight file (.safetensors, or a PyTorch checkpoint), given by path or as bytes, or a model that
    comes with vig: "default", "segment" or "detect"; a file that is called so is "./default". Without a file,
    or with an empty name, the model that comes with vig for the task: "classify", "segment" or "detect".

    arch: what the file holds, where it does not say. size: side of the network's input, 0: from the file.
    batch: most images that run together, 0: by the size. threads: 0: the processors that
    affinity and CPU quotas allow. max_pixels: images with more are refused. ignore_orientation: leave
    images as they are stored, whatever EXIF says. precision: "int8" computes dense layers with integers,
    which is faster and nearly as accurate; float_layers: patterns of layers that stay float32 all the same.
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
