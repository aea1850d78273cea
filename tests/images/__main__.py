"""Lithify's images by hand, from the folder tests/: `python -m images build|sizes`.

`build` says where the archives are, `sizes` what the images are made of, as spark-images/README.md shows it:
uncompressed, and as a registry would send it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from cluster.requirements import node_problem
from images.build import IMAGES, BuildFailed, build, build_archives
from images.sizes import table_of


def main() -> int:
    """Runs one command and returns the exit code."""
    parser = ArgumentParser(prog="python -m images")
    parser.add_argument("command", choices=["build", "sizes"])
    command = parser.parse_args().command
    if (problem := node_problem()) is not None:
        print(f"No images are built here, and tests of them are skipped: {problem}", file=sys.stderr)
        return 0
    try:
        print(build_archives() if command == "build" else table_of([build(name) for name in IMAGES]))
    except (BuildFailed, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
