"""examples/dask_embed.py on two worker processes; skipped where Dask is not installed."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

import numpy as np

import support
import vig


@unittest.skipUnless(importlib.util.find_spec("distributed"), "needs python3-distributed")
class Dask(support.WithModels):
    def test_workers_give_the_vectors_of_one_process(self):
        photos = os.path.join(self.folder, "photos")
        for i in range(40):
            target = os.path.join(photos, str(i % 3), f"{i:02}-" + os.path.basename(self.images[i % 3]))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(self.images[i % 3], target)
        with open(os.path.join(photos, "broken.png"), "w", encoding="utf-8") as file:
            file.write("no image")
        out = os.path.join(self.folder, "vectors.npy")
        script = os.path.join(support.SOURCE, "examples", "dask_embed.py")
        # Small tasks, so that both workers have some.
        result = subprocess.run([sys.executable, script, self.classifier, photos, out, "--chunk", "3"], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("broken.png", result.stderr)
        with open(os.path.join(self.folder, "vectors.txt"), encoding="utf-8") as file:
            names = file.read().splitlines()
        self.assertEqual(len(names), 40)
        expected = np.stack(vig.load(self.classifier, threads=1).embed(names))
        self.assertEqual(np.load(out).tobytes(), expected.tobytes())


if __name__ == "__main__":
    support.main()
