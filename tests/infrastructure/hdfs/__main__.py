"""`python -m infrastructure.hdfs`: prepares once per machine what runs Hadoop's servers, and Kerberos's library."""

from __future__ import annotations

from infrastructure.hdfs.kerberos import load_library
from infrastructure.hdfs.programs import CLUSTER

if __name__ == "__main__":
    CLUSTER.build()
    load_library()
