"""Files of any size: parts of them, label maps by rows, windows."""

import os
import unittest

import numpy as np

import support
import vig


class Regions(support.WithModels):
    def setUp(self):
        self.model = vig.load(self.dense("test_vig_upernet"), threads=2)
        self.image = support.photo("cat_chelsea.png")

    def test_a_region_is_what_the_program_gives(self):
        found = self.model.segment(self.image, region=(40, 30, 150, 120), window=64)
        self.assertEqual(found.labels.shape, (120, 150))
        self.assertEqual(found.labels.dtype, np.uint8)
        [entry] = support.results(
            "segment", "-m", self.dense("test_vig_upernet"), self.image, "--region", "40,30,150,120", "--window", "64",
            "--out", self.folder,
        )
        pixels = {one["index"]: one["pixels"] for one in entry["classes"]}
        labels, counts = np.unique(found.labels, return_counts=True)
        self.assertEqual(dict(zip(labels.tolist(), counts.tolist())), pixels)
        self.assertAlmostEqual(sum(share for _, _, share in found.shares), 1)

    def test_a_label_map_goes_to_a_file(self):
        out = os.path.join(self.folder, "labels.tif")
        found = self.model.segment(self.image, window=64, out=out)
        self.assertIsNone(found.labels)
        self.assertIn("None", repr(found))
        with open(out, "rb") as file:
            self.assertEqual(file.read(4), b"II+\0")
        kept = self.model.segment(self.image, window=64)
        self.assertEqual(found.shares, kept.shares)

    def test_windows_cover_the_image(self):
        rows = {}
        for x, y, pixels in vig.windows(self.image, 100, overlap=30):
            self.assertEqual(pixels.shape, (100, 100, 3))
            rows.setdefault(y, []).append(x)
        whole = next(iter(vig.windows(self.image, 4096)))[2]
        height, width = whole.shape[:2]
        self.assertEqual(max(rows), height - 100)
        self.assertEqual(rows[0][:2], [0, 70])
        self.assertEqual(rows[0][-1], width - 100)
        part = next(iter(vig.windows(self.image, 50, region=(20, 10, 50, 40))))[2]
        np.testing.assert_array_equal(part, whole[10:50, 20:70])

    def test_arguments_that_do_not_fit_are_refused(self):
        for arguments in (
            {"region": (0, 0, 1 << 40, 5)},
            {"region": (-1, 0, 5, 5)},
            {"level": 3},
            {"window": 0},
            {"overlap": -2},
            {"mpp": 0.5},
            {"window": 64, "overlap": 60},
        ):
            with self.assertRaises(vig.UsageError, msg=arguments):
                self.model.segment(self.image, **arguments)
        with self.assertRaises(vig.Error):
            self.model.segment(os.path.join(self.folder, "missing.tif"), level=0)
        with self.assertRaises(TypeError):
            self.model.segment(np.zeros((5, 5, 3), np.uint8), level=0)
        with self.assertRaises(vig.UsageError):
            vig.windows(self.image, 0)


if __name__ == "__main__":
    unittest.main()
