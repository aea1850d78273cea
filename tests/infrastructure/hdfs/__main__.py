"""`python -m infrastructure.hdfs`: prepares Hadoop's servers and Kerberos's library, once per machine."""

from __future__ import annotations

from infrastructure.hdfs.kerberos import load_library
from infrastructure.hdfs.programs import CLUSTER

if __name__ == "__main__":
    CLUSTER.build()
    load_library()
