"""`python -m infrastructure.iceberg`, from the folder tests/: builds what Iceberg's tests need, once per machine."""

from __future__ import annotations

from infrastructure.iceberg.programs import build

if __name__ == "__main__":
    build()
