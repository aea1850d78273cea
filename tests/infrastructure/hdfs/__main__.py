"""`python -m infrastructure.hdfs`: builds the program that runs Hadoop's servers, once per machine."""

from __future__ import annotations

from infrastructure.hdfs.programs import CLUSTER

if __name__ == "__main__":
    CLUSTER.build()
