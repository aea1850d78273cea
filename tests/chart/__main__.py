"""`python -m chart build` from the folder tests/: Helm and what else the checks of the chart need."""

from __future__ import annotations

import sys

from chart.programs import HELM, JUDGE


def main() -> int:
    """Builds what is not there yet; the exit code."""
    try:
        for programs in (HELM, JUDGE):
            programs.build()
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
