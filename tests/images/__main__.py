"""Lithify's images by hand, from the folder tests/: `python -m images build` says where the archives are."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from images.build import BuildFailed, build_archives


def main() -> int:
    """Runs one command and returns the exit code."""
    parser = ArgumentParser(prog="python -m images")
    parser.add_argument("command", choices=["build"])
    parser.parse_args()
    try:
        print(build_archives())
    except (BuildFailed, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
