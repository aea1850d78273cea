"""`python -m infrastructure.building`: makes what speeds the tests up, once per machine."""

from __future__ import annotations

from infrastructure.building import spark_classes

if __name__ == "__main__":
    spark_classes.build()
