"""Results are the bits of the program's, for any form of an image."""

import os
import pathlib
import shutil
import struct
import warnings
import zlib

import numpy as np

import support
import vig


class Pil:
    """What of PIL's images is used, where PIL is not installed."""

    def __init__(self, array, mode="RGB"):
        self._array, self.mode = array, mode
        self.size = (array.shape[1], array.shape[0])

    def convert(self, mode):
        assert mode == "RGB"
        return Pil(np.repeat(self._array[:, :, None], 3, axis=2) if self.mode == "L" else self._array)

    def tobytes(self):
        return self._array.tobytes()


class WithArray:
    def __init__(self, array):
        self._array = array

    def __array__(self, *_):
        return self._array


def png(array, color):
    """A file of these pixels: 6 is RGBA."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = array.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bits(*values):
    return [np.float32(number).tobytes() for number in values]


class Results(support.WithModels):
    def expect_classes(self, result, entry):
        self.assertEqual([score.index for score in result.classes], [one["index"] for one in entry["classes"]])
        self.assertEqual([score.name for score in result.classes], [one["name"] for one in entry["classes"]])
        for field in ("probability", "logit"):
            self.assertEqual(
                bits(*[getattr(score, field) for score in result.classes]),
                bits(*[one[field] for one in entry["classes"]]),
            )

    def test_classes_are_those_of_the_program(self):
        model = vig.load(self.classifier)
        entries = support.results("classify", "-m", self.classifier, "--top", "7", *self.images)
        for result, entry in zip(model.classify(self.images, top=7), entries):
            self.expect_classes(result, entry)
        one = model(self.images[0])
        self.assertEqual(len(one.classes), 5)
        self.assertEqual((one.index, one.name), (one.classes[0].index, one.classes[0].name))
        self.assertEqual(one.probability, one.classes[0].probability)
        self.assertTrue(repr(one).startswith(f"Classification('{one.name}' "), repr(one))
        self.assertTrue(repr(one.classes[0]).startswith("ClassScore(index="), repr(one.classes[0]))

    def test_a_image_may_have_many_forms(self):
        model = vig.load(self.classifier)
        labels = np.arange(40 * 30 * 3, dtype=np.uint32).reshape(40, 30, 3)
        pixels = (labels * 2654435761 >> 13).astype(np.uint8)
        file = os.path.join(self.folder, "pixels.ppm")
        with open(file, "wb") as out:
            out.write(b"P6 30 40 255\n" + pixels.tobytes())
        data = support.read(file)
        wide = np.zeros((80, 60, 4), np.uint8)
        wide[::2, ::2, :3] = pixels
        given = [
            file,
            pathlib.Path(file),
            data,
            bytearray(data),
            memoryview(data),
            pixels,
            wide[::2, ::2, :3],
            np.asfortranarray(pixels),
            pixels[::-1][::-1],
            Pil(pixels),
            WithArray(pixels),
        ]
        expected = bits(*model.embed(file))
        for one in given:
            self.assertEqual(bits(*model.embed(one)), expected, type(one))
        for one in model.embed(given):
            self.assertEqual(bits(*one), expected)
        self.assertEqual(model.embed([]), [])
        gray = pixels[:, :, 0]
        self.assertEqual(
            bits(*model.embed(Pil(gray, "L"))), bits(*model.embed(np.repeat(gray[:, :, None], 3, axis=2)))
        )

    def test_arrays_are_converted_as_files_are(self):
        model = vig.load(self.classifier)
        count = np.arange(40 * 30 * 4, dtype=np.uint32).reshape(40, 30, 4)
        rgba = (count * 2654435761 >> 13).astype(np.uint8)
        gray = np.ascontiguousarray(rgba[:, :, 1])
        expected = {
            "rgb": model.embed(b"P6 30 40 255\n" + rgba[:, :, :3].tobytes()),
            "rgba": model.embed(png(rgba, 6)),
            "gray": model.embed(b"P5 30 40 255\n" + gray.tobytes()),
        }
        self.assertNotEqual(bits(*expected["rgb"]), bits(*expected["gray"]))
        wide = np.zeros((80, 60, 8), np.uint8)
        wide[::2, ::2, ::2] = rgba
        cases = [
            ("rgb", rgba[:, :, :3]),
            ("rgba", rgba),
            ("rgba", wide[::2, ::2, ::2]),
            ("rgba", np.asfortranarray(rgba)),
            ("rgba", rgba[::-1, ::-1].copy()[::-1, ::-1]),
            ("rgba", rgba.astype(">u1")),
            ("rgba", memoryview(rgba)),
            ("gray", gray),
            ("gray", gray[:, :, None]),
            ("gray", np.asfortranarray(gray)),
            ("gray", rgba[:, :, 1]),
            ("gray", rgba[:, :, 1:2]),
            ("gray", np.repeat(gray[:, :, None], 3, axis=2)),
        ]
        for kind, array in cases:
            self.assertEqual(bits(*model.embed(array)), bits(*expected[kind]), (kind, np.shape(array)))
        for vector, (kind, _) in zip(model.embed([array for _, array in cases]), cases):
            self.assertEqual(bits(*vector), bits(*expected[kind]))
        # The bytes of a file may lie apart, too.
        data = np.frombuffer(png(rgba, 6), np.uint8)
        apart = np.zeros(2 * len(data), np.uint8)
        apart[::2] = data
        self.assertEqual(bits(*model.embed(apart[::2])), bits(*expected["rgba"]))
        self.assertEqual(bits(*model.embed(np.ascontiguousarray(data[::-1])[::-1])), bits(*expected["rgba"]))

    def test_embeddings(self):
        model = vig.load(self.classifier)
        for options, more in (({}, []), ({"map": True}, ["--map"])):
            entries = support.results("embed", "-m", self.classifier, *more, *self.images)
            for vector, entry in zip(model.embed(self.images, **options), entries):
                self.assertEqual(vector.dtype, np.float32)
                self.assertEqual(list(vector.shape), entry["shape"])
                self.assertEqual(bits(*vector.ravel()), bits(*entry["values"]))
        larger = support.results("embed", "-m", self.classifier, "--size", "96", self.images[0])
        self.assertEqual(bits(*model.embed(self.images[0], size=96)), bits(*larger[0]["values"]))
        self.assertEqual(
            bits(*vig.load(self.classifier, size=96).embed(self.images[0])), bits(*larger[0]["values"])
        )

    def test_explanations(self):
        model = vig.load(self.classifier)
        out = os.path.join(self.folder, "explained")
        image = self.images[0]
        entry = support.results(
            "explain", "-m", self.classifier, image, "--out", out, "--class", "dog", "--against", "0"
        )[0]
        evidence = model.explain(image, about="dog", against=0)
        self.assertEqual((evidence.about.name, evidence.against.name), ("dog", "ant"))
        self.assertEqual(list(evidence.map.shape), entry["shape"])
        self.assertEqual(bits(*evidence.map.ravel()), bits(*entry["values"]))
        self.assertIn("against='ant'", repr(evidence))
        best = model.explain(image)
        self.assertEqual(best.about.index, model(image).index)
        self.assertIsNone(best.against)
        self.assertAlmostEqual(float(best.map.mean()), best.about.logit, places=5)

        entry = support.results(
            "explain", "-m", self.classifier, image, "--out", out, "--at", "0.1,0.9", "--layer", "0"
        )[0]
        attention = model.explain(image, at=(0.1, 0.9), layer=0)
        self.assertEqual((attention.layer, attention.head), (0, None))
        self.assertEqual((attention.row, attention.column), (entry["row"], entry["column"]))
        self.assertEqual(bits(*attention.map.ravel()), bits(*entry["values"]))
        self.assertEqual(model.explain(image, at=(1, 1), head=1).head, 1)

    def test_segmentation(self):
        path = self.dense("test_vig_upernet")
        model = vig.load(path)
        self.assertEqual((model.task, model.classes), ("segment", []))
        out = os.path.join(self.folder, "segmented")
        entry = support.results("segment", "-m", path, self.images[0], "--out", out)[0]
        with self.assertWarns(UserWarning) as warned:
            result = model(self.images[0])
        self.assertEqual(str(warned.warning), f"{self.images[0]}: {entry['warnings'][0]['message']}")
        self.assertEqual(result.labels.dtype, np.uint8)
        self.assertEqual(result.labels.shape, (entry["height"], entry["width"]))
        counts = np.bincount(result.labels.ravel())
        self.assertEqual(len(result.shares), np.count_nonzero(counts))
        for label, name, share in result.shares:
            self.assertIsNone(name)
            self.assertEqual(share, counts[label] / result.labels.size)
        self.assertTrue(repr(result).startswith("Segmentation("), repr(result))

    def test_detection(self):
        path = self.dense("test_vig_maskrcnn")
        model = vig.load(path)
        out = os.path.join(self.folder, "detected")
        entries = support.results("detect", "-m", path, self.images[0], "--out", out, "--score", "0.06")
        with self.assertWarns(UserWarning):
            found = model.detect(self.images[0], score=0.06)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertRaises(UserWarning, model.detect, self.images[0])
            # Not shrunk, and no object above this score was cut off.
            self.assertEqual(vig.load(path, size=300).detect(self.images[0], score=1), [])
        self.assertEqual(len(found), len(entries))
        for one, entry in zip(found, entries):
            self.assertEqual(one.label + 1, entry["category_id"])
            self.assertEqual(bits(one.score), bits(entry["score"]))
            x1, y1, x2, y2 = one.box
            self.assertEqual(bits(x1, y1), bits(*entry["bbox"][:2]))
            self.assertEqual(one.rle["counts"], entry["segmentation"]["counts"])
            self.assertEqual(one.mask.dtype, bool)
            self.assertEqual(int(one.mask.sum()), one.area)
            self.assertEqual(list(one.mask.shape), list(one.rle["size"]))
            self.assertTrue(repr(one).startswith("Detection("), repr(one))
        self.assertLessEqual(len(model(self.images[0])), len(found))

    def test_the_size_is_the_one_that_is_used(self):
        self.assertEqual(vig.load(self.classifier, size=96).size, 96)

    def test_the_model_says_what_it_is(self):
        model = vig.load(self.classifier)
        self.assertEqual((model.task, model.arch, model.class_count), ("classify", "test_vig", 10))
        self.assertEqual(model.classes, support.CLASSES)
        self.assertEqual(model.size, 64)
        self.assertEqual(repr(model), "Model(test_vig, classify, 10 classes)")
        held = vig.load(support.read(self.classifier))
        self.assertEqual(bits(*held.embed(self.images[0])), bits(*model.embed(self.images[0])))
        self.assertEqual(vig.load().task, "classify")

    def test_models_that_come_with_vig_have_names(self):
        for name, task in (("default", "classify"), ("segment", "segment"), ("detect", "detect")):
            self.assertEqual(vig.load(name).task, task)
            self.assertEqual(vig.load(pathlib.Path(name)).task, task)
            self.assertEqual(vig.load("", task=task).task, task)
        # The name wins over a file of the current folder, whose path is another name for it.
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            shutil.copy(self.classifier, "segment")
            self.assertEqual(vig.load("segment").task, "segment")
            self.assertEqual(vig.load("./segment").arch, "test_vig")
        finally:
            os.chdir(before)
            os.remove(os.path.join(self.folder, "segment"))


if __name__ == "__main__":
    support.main()
