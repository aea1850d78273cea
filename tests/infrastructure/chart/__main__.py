"""From the folder tests/: `python -m infrastructure.chart build|snapshots`.

The first builds Helm and what else the checks of the chart need, the second renders the snapshots anew.
"""

from __future__ import annotations

import sys

from infrastructure.chart.cases import write_snapshots
from infrastructure.chart.programs import HELM, JUDGE
from infrastructure.chart.schemas import copy_schemas


def main(arguments: list[str]) -> int:
    """Runs a command; the exit code."""
    try:
        match arguments:
            case ["build"]:
                for programs in (HELM, JUDGE):
                    programs.build()
                copy_schemas()
            case ["snapshots"]:
                write_snapshots()
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
