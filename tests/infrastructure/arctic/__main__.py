"""`python -m infrastructure.arctic`, from the folder tests/: builds what the tests of keyed tables need."""

from __future__ import annotations

from infrastructure.arctic.programs import CORE, MIXED

if __name__ == "__main__":
    for each in (CORE, MIXED):
        print(each.build())
