"""Embedding vectors of all images below a folder, computed by the workers of a Dask cluster. Row i of OUT.npy is the
image in line i of OUT.txt. Without --scheduler two worker processes are started on this machine. All workers must
see the same paths."""

import argparse
import functools
import os
import pathlib
import sys

import numpy as np
from distributed import Client, LocalCluster, as_completed, get_worker

import vig


def embed(model, images):
    worker = get_worker()
    if getattr(worker, "vig_name", None) != model:  # the network is loaded once in each worker process
        worker.vig_model, worker.vig_name = vig.load(model, threads=1), model
    return worker.vig_model.embed(images, skip_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=os.path.abspath)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.npy")
    parser.add_argument("--scheduler", help="the address that dask-scheduler prints")
    parser.add_argument("--chunk", type=int, default=256, help="images of a task, which is repeated if its worker dies")
    options = parser.parse_args()
    images = sorted(str(file.absolute()) for file in options.folder.rglob("*") if file.is_file())
    chunks = [images[i : i + options.chunk] for i in range(0, len(images), options.chunk)]
    cluster = options.scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    results = {}
    with Client(cluster) as client:
        tasks = client.map(functools.partial(embed, options.model), chunks, pure=False)
        for task, vectors in as_completed(tasks, with_results=True):
            results[task.key] = vectors
            task.release()
        vectors = [vector for task in tasks for vector in results[task.key]]
    good = [(image, vector) for image, vector in zip(images, vectors) if not isinstance(vector, Exception)]
    for vector in vectors:
        if isinstance(vector, Exception):
            print(vector, file=sys.stderr)
    np.save(options.out, np.stack([vector for _, vector in good]))
    options.out.with_suffix(".txt").write_text("".join(image + "\n" for image, _ in good), encoding="utf-8")
    return 3 if len(good) < len(images) else 0


if __name__ == "__main__":
    sys.exit(main())
