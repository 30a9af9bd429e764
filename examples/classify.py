"""The best three classes of an image, from Python:

    python3 classify.py model.safetensors image.jpg
"""

import sys

import vig


def main():
    if len(sys.argv) != 3:
        print(f"usage: {sys.argv[0]} MODEL IMAGE", file=sys.stderr)
        return 2
    try:
        result = vig.load(sys.argv[1]).classify(sys.argv[2], top=3)
    except vig.Error as error:
        print(error, file=sys.stderr)
        return 1
    for score in result.classes:
        print(f"{100 * score.probability:6.2f} %  {score.index}  {score.name or ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
