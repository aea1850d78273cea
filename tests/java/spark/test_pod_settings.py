"""The settings that Spark itself knows, read from its jars."""

from __future__ import annotations

import subprocess
import sys

from support.spark_settings import POD_SETTINGS

READ = """
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

java = launch_gateway(SparkConf()).jvm.java
java.lang.Class.forName("org.apache.spark.deploy.k8s.Config$")
entries = java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$")
known = entries.getDeclaredField("knownConfigs")
known.setAccessible(True)
for name in known.get(None).keySet():
    print(name)
"""


def test_list_of_settings_that_make_pods_is_sparks() -> None:
    """Fails with a new Spark: its new settings have to be looked at before a policy may hold them."""
    found = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert {name for name in found.stdout.split() if name.startswith("spark.kubernetes.")} == POD_SETTINGS
