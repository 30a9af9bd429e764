"""Options reach the engine, each its own part of it, and those out of range are refused."""

import os
import pathlib

import numpy as np

import support
import vig
from vig import training


def column_runs(text):
    """The run lengths of COCO's compressed text: six bits a character, from the third on as differences."""
    runs, at = [], 0
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            byte = ord(text[at]) - 48
            at += 1
            value |= (byte & 31) << shift
            shift += 5
            more = bool(byte & 32)
        if byte & 16:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    return runs


class Options(support.WithModels):
    def test_sizes_are_those_of_the_program(self):
        model = vig.load(self.classifier)
        image = self.images[0]
        more = ["-m", self.classifier, "--size", "96", image]
        entry = support.results("classify", "--top", "3", *more)[0]
        result = model.classify(image, top=3, size=96)
        self.assertEqual([one.logit for one in result.classes], [np.float32(one["logit"]) for one in entry["classes"]])
        out = os.path.join(self.folder, "explained")
        entry = support.results("explain", *more, "--out", out, "--class", "cat")[0]
        evidence = model.explain(image, about="cat", size=96)
        self.assertEqual(list(evidence.map.shape), entry["shape"])
        self.assertEqual(evidence.map.ravel().tolist(), [np.float32(one) for one in entry["values"]])
        self.assertEqual(evidence.about.index, 2)
        attention = model.explain(image, at=(0.5, 0.5), layer=1, head=0, size=96)
        self.assertEqual((attention.layer, attention.head, attention.map.shape), (1, 0, (6, 6)))

    def test_images_are_turned_unless_told_otherwise(self):
        turned = support.photo("hopper_orient6.webp")
        upright = vig.load(self.classifier).embed(turned)
        stored = vig.load(self.classifier, ignore_orientation=True).embed(turned)
        self.assertNotEqual(upright.tobytes(), stored.tobytes())
        entry = support.results("embed", "-m", self.classifier, turned)[0]
        self.assertEqual(upright.tobytes(), np.array(entry["values"], np.float32).tobytes())

    def test_large_images_are_refused_in_every_form(self):
        model = vig.load(self.classifier, max_pixels=12)
        with self.assertRaisesRegex(vig.Error, "limit of 12 pixels"):
            model(self.images[0])
        with self.assertRaisesRegex(vig.Error, "4 x 4 pixels, expected at most 12 .raise it with max_pixels."):
            model(np.zeros((4, 4, 3), np.uint8))
        self.assertEqual(len(model(np.zeros((3, 4, 3), np.uint8)).classes), 5)

    def test_bad_images_have_their_entry_in_every_list(self):
        given = [b"no image", self.images[0]]
        classifier = vig.load(self.classifier)
        segmenter = vig.load(self.dense("test_vig_upernet"))
        detector = vig.load(self.dense("test_vig_maskrcnn"))
        for ask in (
            classifier,
            classifier.embed,
            classifier.explain,
            lambda images, **more: classifier.explain(images, at=(0, 0), **more),
            segmenter,
            segmenter.segment,
            detector,
            detector.detect,
        ):
            bad, good = ask(given, skip_errors=True)
            self.assertIsInstance(bad, vig.Error)
            self.assertNotIsInstance(good, vig.Error)
            with self.assertRaisesRegex(vig.Error, "image 0"):
                ask(given)

    def test_objects_are_those_of_the_program(self):
        path = self.dense("test_vig_maskrcnn")
        model = vig.load(path)
        out = os.path.join(self.folder, "detected")
        entries = support.results("detect", "-m", path, self.images[0], "--out", out, "--score", "0.05")
        found = model.detect(self.images[0], score=0.05)
        self.assertEqual(len(found), len(entries))
        self.assertGreater(len(found), 2)
        for one, entry in zip(found, entries):
            x1, y1, x2, y2 = (np.float32(side) for side in one.box)
            self.assertEqual([x1, y1, x2 - x1, y2 - y1], [np.float32(side) for side in entry["bbox"]])
            self.assertIsNone(one.name)
            height, width = one.rle["size"]
            runs = column_runs(one.rle["counts"])
            flat = np.concatenate([np.full(run, i % 2, bool) for i, run in enumerate(runs)])
            self.assertTrue(np.array_equal(one.mask, flat.reshape(width, height).T))
        # Above the score, not at it; without one, what the program shows.
        middle = found[len(found) // 2].score
        better = model.detect(self.images[0], score=middle)
        self.assertEqual(len(better), sum(one.score > middle for one in found))
        image = support.photo("cat_progressive_320x240.jpg")
        shown = support.results("detect", image, "--out", out)
        everything = support.results("detect", image, "--out", out, "--score", "0.05")
        self.assertTrue(0 < len(shown) < len(everything))
        default = vig.load(task="detect")
        self.assertEqual(len(default(image)), len(shown))
        self.assertEqual(len(default.detect(image)), len(shown))

    def test_what_is_out_of_range(self):
        model = vig.load(self.classifier)
        image = self.images[0]
        for call in (
            lambda: model.explain(image, at=(0.5, 0.5), layer=-1),
            lambda: model.explain(image, at=(0.5, 0.5), head=-1),
            lambda: model.explain(image, at=(0.5, 0.5), against=1),
            lambda: model.explain(image, layer=0),
            lambda: model.explain(image, against=-1),
            lambda: model.session(64, 64).run(0),
            lambda: vig.load(self.classifier, size=-1),
            lambda: vig.load(self.classifier, batch=-1),
            lambda: vig.load(self.classifier, batch=4097),
            lambda: vig.load(self.classifier, threads=1025),
            lambda: vig.load(task="sort"),
        ):
            with self.assertRaises(vig.UsageError):
                call()
        self.assertEqual(vig.load(task="segment").task, "segment")
        self.assertEqual(vig.load(task="detect").task, "detect")

    def test_options_of_training_are_those_of_the_command_line(self):
        options = {"epochs": 3, "min_lr": 0.5, "amp": True, "resume": False, "seed": None}
        options.update(sizes=[32, 48], set=["a=1", "b=2"], model=pathlib.Path("x/y"))
        self.assertEqual(
            list(training._arguments(options)),
            ["--epochs", "3", "--min-lr", "0.5", "--amp", "--sizes", "32,48"]
            + ["--set", "a=1", "--set", "b=2", "--model", "x/y"],
        )
        self.assertEqual(list(training._arguments({"set": "a=1"})), ["--set", "a=1"])


if __name__ == "__main__":
    support.main()
