"""Lithify's images by hand, from the folder tests/: `python -m infrastructure.images build|sizes|bills`.

`build` prints where the archives are and how large the images are. `sizes` puts what they are made of into
spark-images/README.md: uncompressed, and as a registry would send it. `bills` writes an image's software bill
of materials beside each archive.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from infrastructure.cluster.requirements import node_problem
from infrastructure.images.bills import write_bills
from infrastructure.images.build import IMAGES, REPOSITORY, BuildFailed, build, build_archives
from infrastructure.images.sizes import document, tables_of, totals_of

README = REPOSITORY / "spark-images" / "README.md"


def main() -> int:
    """Runs one command and returns the exit code."""
    parser = ArgumentParser(prog="python -m infrastructure.images")
    parser.add_argument("command", choices=["build", "sizes", "bills"])
    command = parser.parse_args().command
    if (problem := node_problem()) is not None:
        print(f"No images are built here, and tests of them are skipped: {problem}", file=sys.stderr)
        return 0
    try:
        run(command)
    except (BuildFailed, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def run(command: str) -> None:
    """Runs one command; raises what building raises."""
    folder = build_archives()
    images = [build(name) for name in IMAGES]
    if command == "build":
        print(folder, totals_of(images), sep="\n")
    elif command == "sizes":
        document(README, tables_of(images))
    else:
        print(*write_bills(folder), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
