"""One start, timed: from before PySpark is imported until the first task is done. Prints JSON.

Run by the benchmark, in the Spark image or with PySpark as it is installed. Imports nothing of the tests: the
image has none of them.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

OWN_ARCHIVE = "/usr/lib/jvm/java-17/lib/server/classes.jsa"
"""The archive that Java brings, with classes of its own only."""
PLAIN = f"-XX:SharedArchiveFile={OWN_ARCHIVE}"
NO_NETWORK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session() -> Any:
    """A session of Spark SQL with Spark's defaults that runs its tasks itself."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("start")
    for key, value in NO_NETWORK.items():
        builder = builder.config(key, value)
    return builder.getOrCreate().sparkContext


def local(java: str | None) -> Any:
    """A driver that runs its tasks itself; `java` stands for what the product gives its JVM."""
    from pyspark import SparkConf, SparkContext

    settings = settings_for("local[1]", java)
    return SparkContext(
        conf=SparkConf().setMaster("local[1]").setAppName("start").setAll(list(settings.items()))
    )


def executor(java: str | None) -> Any:
    """A driver with an executor, on what stands in for a cluster when the image is built."""
    sys.path.insert(0, "/tmp")
    import train  # type: ignore[import-not-found]

    settings = settings_for("k8s://", java)
    options = {who: settings.pop(f"spark.{who}.extraJavaOptions") for who in ("driver", "executor")}
    return train.start(
        train.Cluster(), options, settings | {"spark.scheduler.minRegisteredResourcesRatio": "0.0"}
    )


def settings_for(master: str, java: str | None) -> dict[str, str]:
    """The product's settings, perhaps with other options of the JVMs."""
    from lithify.engine.run.spark import SparkSettings, configuration

    settings = configuration(SparkSettings(master))
    for key in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        if key in settings and java is not None:
            settings[key] = f"{settings[key].split()[0]} {java}"  # the first one is about logs
    return settings


KINDS = {
    "session": session,
    "local-plain": lambda: local(PLAIN),
    "local": lambda: local(None),
    "executor-plain": lambda: executor(PLAIN),
    "executor": lambda: executor(None),
}


def anonymous_mib(process: int) -> int:
    """The memory of a process that is backed by no file."""
    found = re.search(
        r"^Anonymous: +(\d+) kB$", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE
    )
    assert found is not None
    return int(found[1]) >> 10


def main() -> None:
    """Times one start; what the product imports itself, it has imported for planning."""
    if sys.argv[1] != "session":
        importlib.import_module("lithify.engine.run.spark")
    began = time.monotonic()
    context = KINDS[sys.argv[1]]()
    assert context.parallelize([1], 1).map(lambda number: number + 1).collect() == [2]
    seconds = time.monotonic() - began
    print(json.dumps({"seconds": seconds, "mib": anonymous_mib(context._gateway.proc.pid)}))
    context.stop()


if __name__ == "__main__":
    main()
