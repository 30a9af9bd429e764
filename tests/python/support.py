"""What the tests of the Python module share."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["VIG_SOURCE_DIR"]
BINARY = os.environ["VIG_BINARY"]
PHOTOS = os.path.join(SOURCE, "tests", "fixtures", "image", "photos")
CLASSES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]


def run_vig(*arguments, check=True):
    result = subprocess.run([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if check and result.returncode != 0:
        raise AssertionError(result.stderr)
    return result


def results(*arguments):
    """What the program says as JSON."""
    return json.loads(run_vig(*arguments, "--json").stdout)


def photo(name):
    return os.path.join(PHOTOS, name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class WithModels(unittest.TestCase):
    """Miniatures in a folder that vanishes."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        names = os.path.join(cls.folder, "classes.txt")
        with open(names, "w", encoding="utf-8") as file:
            file.write("\n".join(CLASSES) + "\n")
        cls.classifier = os.path.join(cls.folder, "classifier.safetensors")
        checkpoint = os.path.join(SOURCE, "tests", "fixtures", "golden", "vig-mini-silu.pth")
        run_vig("convert", checkpoint, cls.classifier, "--arch", "test_vig", "--classes", names)
        cls.images = [photo(name) for name in ("cat_chelsea.png", "flower.webp", "kitten_gray.jpg")]

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    @classmethod
    def dense(cls, arch):
        path = os.path.join(cls.folder, arch + ".safetensors")
        if not os.path.exists(path):
            run_vig("convert", arch, path, "--random")
        return path


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
