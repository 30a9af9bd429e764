"""What goes wrong raises vig.Error with the sentence that the program says."""

import os

import numpy as np

import support
import vig


class Errors(support.WithModels):
    def sentence(self, function, kind=vig.Error):
        with self.assertRaises(kind) as raised:
            function()
        return str(raised.exception)

    def test_sentences_are_those_of_the_program(self):
        missing = os.path.join(self.folder, "missing.safetensors")
        said = support.run_vig("classify", "-m", missing, self.images[0], check=False).stderr
        self.assertEqual("vig: " + self.sentence(lambda: vig.load(missing)) + "\n", said)
        broken = os.path.join(self.folder, "broken.png")
        with open(broken, "wb") as file:
            file.write(support.read(self.images[0])[:1000])
        model = vig.load(self.classifier)
        said = support.run_vig("classify", "-m", self.classifier, broken, check=False).stderr
        self.assertEqual("vig: " + self.sentence(lambda: model(broken)) + "\n", said)

    def test_a_bad_image_need_not_hinder_others(self):
        model = vig.load(self.classifier)
        given = [self.images[0], b"no image", self.images[1]]
        self.assertIn("image 1", self.sentence(lambda: model(given)))
        first, second, third = model.classify(given, skip_errors=True)
        self.assertEqual(first.name, model(self.images[0]).name)
        self.assertIsInstance(second, vig.Error)
        self.assertIn("image 1", str(second))
        self.assertEqual(third.name, model(self.images[1]).name)
        # One image has no list to hold its error.
        self.sentence(lambda: model(b"no image", skip_errors=True))

    def test_names_need_not_be_utf8(self):
        name = os.fsdecode(os.path.join(os.fsencode(self.folder), b"m\xff.safetensors"))
        self.assertIn("m\\xff.safetensors", self.sentence(lambda: vig.load(name)))

    def test_usage(self):
        model = vig.load(self.classifier)
        image = self.images[0]
        self.assertTrue(issubclass(vig.UsageError, vig.Error))
        for call in (
            lambda: model.segment(image),
            lambda: model.detect(image),
            lambda: model.classify(image, top=0),
            lambda: model.explain(image, about="dgo"),
            lambda: model.explain(image, about=10),
            lambda: model.explain(image, about=-2),
            lambda: model.explain(image, at=(0.5, 2)),
            lambda: model.explain(image, at=(0.5, 0.5), layer=9),
            lambda: model.explain(image, at=(0.5, 0.5), about=1),
            lambda: model.explain(image, head=1),
            lambda: vig.load(self.classifier, threads=-1),
            lambda: vig.load(self.classifier, size=100000),
            lambda: vig.load(self.classifier, max_pixels=0),
            lambda: vig.load("test_vig"),
        ):
            self.sentence(call, vig.UsageError)
        self.assertIn("did you mean 'dog'", self.sentence(lambda: model.explain(image, about="dgo")))
        careful = vig.load(self.classifier, max_pixels=10)
        pixels = np.zeros((4, 4, 3), np.uint8)
        self.assertIn("expected at most 10", self.sentence(lambda: careful(pixels)))

    def test_what_is_no_image(self):
        model = vig.load(self.classifier)
        for thing in (3, None, {}, object(), iter([self.images[0]])):
            self.assertIn("expected a path", self.sentence(lambda: model(thing), TypeError))
        self.sentence(lambda: model(b""))
        self.sentence(lambda: model("a\0b"), ValueError)
        self.sentence(lambda: vig.load(3), TypeError)
        self.sentence(lambda: vig.load(b"no weights"))
        with self.assertRaises(TypeError):
            model(self.images[0], no_such_option=1)

    def test_arrays_that_are_no_image_are_named(self):
        model = vig.load(self.classifier)
        for array, found in (
            (np.zeros((4, 4, 2), np.uint8), "uint8 [4, 4, 2]"),
            (np.zeros((3, 4, 5), np.uint8), "uint8 [3, 4, 5]"),
            (np.zeros((0, 4, 3), np.uint8), "uint8 [0, 4, 3]"),
            (np.zeros((4, 0), np.uint8), "uint8 [4, 0]"),
            (np.zeros((4, 4, 0), np.uint8), "uint8 [4, 4, 0]"),
            (np.zeros((2, 4, 4, 3), np.uint8), "uint8 [2, 4, 4, 3]"),
            (np.zeros((), np.uint8), "uint8 []"),
            (np.zeros((200, 200, 3), np.float32), "float32 [200, 200, 3]"),
            (np.zeros((4, 4, 3), np.float16), "float16 [4, 4, 3]"),
            (np.zeros((4, 4), np.float64), "float64 [4, 4]"),
            (np.zeros((4, 4, 3), np.int8), "int8 [4, 4, 3]"),
            (np.zeros((4, 4, 3), np.int64), "int64 [4, 4, 3]"),
            (np.zeros((4, 4, 3), np.uint16), "uint16 [4, 4, 3]"),
            (np.zeros((4, 4, 3), bool), "bool [4, 4, 3]"),
            (np.zeros(100, bool), "bool [100]"),
            (np.zeros(100, np.float32), "float32 [100]"),
            (np.zeros((4, 4, 3), ">u2"), "big-endian uint16 [4, 4, 3]"),
            (np.zeros((4, 4, 3), ">f4"), "big-endian float32 [4, 4, 3]"),
            (np.zeros((4, 4, 3), np.complex64), "complex64 [4, 4, 3]"),
        ):
            said = self.sentence(lambda: model(array), vig.UsageError)
            self.assertIn("the image: found an array of " + found + ", expected uint8 [height, width, 3]", said)
            said = self.sentence(lambda: model([self.images[0], array]), vig.UsageError)
            self.assertIn("image 1: found an array of " + found, said)


if __name__ == "__main__":
    support.main()
