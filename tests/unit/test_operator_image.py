"""The operator's image lacks packages on purpose: what it runs must import without them.

`make images` finds out the same in the image itself, but only `make test` builds one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECK = Path(__file__).parents[2] / "spark-images" / "check.py"
WITHOUT = """
import runpy, sys
from importlib.machinery import PathFinder

check = runpy.run_path(sys.argv[1])

class Image(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.partition(".")[0] in check["ABSENT"]
        return None if absent else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Image
check["main"]("operator")
"""


def test_the_operator_needs_no_package_that_its_image_lacks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(CHECK)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
