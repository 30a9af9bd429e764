#!/usr/bin/env python3
"""Lists a few images per class of a folder with train/ and test/ (or val/), as `vig train` reads them.

The test images of the list are those of the folder and, with --rest, the training images that are not drawn.
For vig study transfer:

    tools/few_images.py cifar10 --images 50 >few.csv
    ./vig study transfer --data few.csv
"""

import argparse
import csv
import pathlib
import random
import sys


def images_of(folder):
    return sorted(str(path.resolve()) for path in folder.iterdir() if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="folder with train/CLASS/IMAGE and test/ or val/")
    parser.add_argument("--images", type=int, required=True, help="training images per class")
    parser.add_argument("--classes", help="only these folders, separated by commas (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    parser.add_argument("--rest", action="store_true", help="also test on the training images that are not drawn")
    options = parser.parse_args()

    test = next((options.data / name for name in ("test", "val") if (options.data / name).is_dir()), None)
    if test is None or not (options.data / "train").is_dir():
        sys.exit(f"{options.data}: expected the folders train and test or val")
    classes = sorted(path.name for path in (options.data / "train").iterdir() if path.is_dir())
    if options.classes:
        wanted = options.classes.split(",")
        unknown = sorted(set(wanted) - set(classes))
        if unknown:
            sys.exit(f"{options.data}/train: has no class {', '.join(unknown)}")
        classes = sorted(wanted)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["path", "label", "split"])
    draw = random.Random(options.seed)
    for name in classes:
        images = images_of(options.data / "train" / name)
        if len(images) < options.images:
            sys.exit(f"{options.data}/train/{name}: has {len(images)} images, expected {options.images} or more")
        chosen = set(draw.sample(images, options.images))
        rows.writerows([path, name, "train"] for path in images if path in chosen)
        if options.rest:
            rows.writerows([path, name, "test"] for path in images if path not in chosen)
        rows.writerows([path, name, "test"] for path in images_of(test / name))


if __name__ == "__main__":
    main()
