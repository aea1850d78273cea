"""Run inside of the Spark image by tests: what its JVMs do. Prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
TASKS = 8


def archived(log: Path) -> float:
    """Which part of its classes, but those made on the fly, a JVM took from the archive."""
    lines = [line for line in log.read_text().splitlines() if "source: " in line]
    sources = [
        line.partition("source: ")[2] for line in lines if "Lambda" not in line and "Proxy" not in line
    ]
    return sum(source.startswith("shared objects file") for source in sources) / len(sources)


def local() -> dict[str, Any]:
    """A driver that runs its tasks itself, with its web pages on."""
    from pyspark import SparkConf, SparkContext

    java = f"{OPTIONS} -Xlog:class+load:file=/tmp/driver.log"
    settings = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java,
        "spark.ui.enabled": "true",
    }
    settings |= {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.port": "0",
    }
    context = SparkContext(
        conf=SparkConf().setMaster("local[2]").setAppName("x").setAll(list(settings.items()))
    )
    found = sorted(context.parallelize(range(TASKS), TASKS).map(lambda number: -number).collect())
    assert context._jvm is not None
    options = context._jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions()
    address = context.uiWebUrl
    context.stop()
    return {
        "found": found,
        "options": options.split(),
        "ui": address,
        "archived": archived(Path("/tmp/driver.log")),
    }


def cluster() -> dict[str, Any]:
    """A driver with an executor, as in a cluster; the executor is asked to leave in the end."""
    sys.path.insert(0, "/tmp")
    import train

    java = {who: f"{OPTIONS} -Xlog:class+load:file=/tmp/{who}.log" for who in ("driver", "executor")}
    stand_in = train.Cluster()
    context = train.start(stand_in, java, {})
    found = sorted(context.parallelize(range(TASKS), TASKS).map(lambda number: -number).collect())
    (executor,) = stand_in.executors
    child = Path(f"/proc/{executor.pid}/task/{executor.pid}/children").read_text().strip()
    words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
    subprocess.run(["/opt/decom.sh"], check=True, timeout=60)
    code = executor.wait(60)
    context.stop()
    parts = {who: archived(Path(f"/tmp/{who}.log")) for who in java}
    return {"found": found, "executor": words, "code": code, "archived": parts}


if __name__ == "__main__":
    print(json.dumps({"local": local, "cluster": cluster}[sys.argv[1]]()))
