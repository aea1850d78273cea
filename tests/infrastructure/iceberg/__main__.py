"""`python -m infrastructure.iceberg`, from the folder tests/: builds what Iceberg's tests need."""

from __future__ import annotations

from infrastructure.iceberg import classes
from infrastructure.iceberg.programs import GO, REST_SERVER, SPARK
from infrastructure.iceberg.spark import program

if __name__ == "__main__":
    for each in (SPARK, REST_SERVER, GO):
        print(each.build())
    print(classes.build(program()))
