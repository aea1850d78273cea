"""Makes the archive of loaded classes that lets the JVMs of the Spark image start faster.

Run when the image is built, inside of it. A driver and an executor run a small job here as they would in a
cluster: what stands in for the API server answers the driver's requests and, where a kubelet would start a
container, starts the image's entrypoint. The JVMs write down which classes they load; a last one archives
them. The benchmark of starts uses the same stand-in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ENTRYPOINT = "/opt/entrypoint.sh"
SPARK = Path(os.environ["SPARK_HOME"])
ARCHIVE = SPARK / "classes.jsa"
HOST = "127.0.0.1"
OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
TASKS = 4
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.driver.host": HOST,
    "spark.executor.instances": "1",
    "spark.executor.memory": "512m",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
    "spark.decommission.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.kubernetes.namespace": "training",
    "spark.kubernetes.container.image": "image",
    "spark.kubernetes.driver.pod.name": "driver",
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.executor.podNamePrefix": "training",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
}
"""What drivers of ours set, as far as it has the JVMs load classes."""
WEB_SOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What a server shows that it speaks the protocol with (RFC 6455)."""


class Cluster(ThreadingHTTPServer):
    """As much of an API server as a driver needs, and of a kubelet as an executor needs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Requests)
        self.pods: dict[str, dict[str, Any]] = {"driver": running({"metadata": {"name": "driver"}})}
        self.executors: list[subprocess.Popen[bytes]] = []
        self.changed = threading.Condition()

    def create(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Starts an executor."""
        container = pod["spec"]["containers"][0]
        environment = {**os.environ, **dict(variable(entry, pod) for entry in container["env"])}
        environment["SPARK_LOCAL_DIRS"] = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir())
        self.executors.append(subprocess.Popen([ENTRYPOINT, *container["args"]], env=environment))
        with self.changed:
            self.pods[pod["metadata"]["name"]] = running(pod)
            self.changed.notify_all()
        return pod


def variable(entry: dict[str, Any], pod: dict[str, Any]) -> tuple[str, str]:
    """A variable of a container, as its kubelet sets it."""
    path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
    given = {"status.podIP": HOST, "metadata.name": pod["metadata"]["name"]}
    return entry["name"], given[path] if path else entry.get("value", "")


def running(pod: dict[str, Any]) -> dict[str, Any]:
    """A pod that runs."""
    name = pod["metadata"]["name"]
    metadata = {**pod["metadata"], "uid": name, "namespace": "training", "resourceVersion": "1"}
    status = {"phase": "Running", "podIP": HOST, "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "spec": {"containers": []},
        **pod,
        "metadata": metadata,
        "status": status,
    }


class Requests(BaseHTTPRequestHandler):
    """A driver's requests."""

    protocol_version = "HTTP/1.1"
    server: Cluster

    def do_GET(self) -> None:
        """A pod, all pods, or events of them."""
        name = self.path.partition("?")[0].rpartition("/")[2]
        if "watch=" in self.path:
            self.watch()
        elif name != "pods":
            self.answer(self.server.pods[name])
        else:
            items = [pod for pod in self.server.pods.values() if wanted(pod, self.path)]
            self.answer(
                {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
            )

    def do_POST(self) -> None:
        """A new pod."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(self.server.create(body), 201)

    def do_DELETE(self) -> None:
        """Pods are done with."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    do_PATCH = do_PUT = do_DELETE

    def watch(self) -> None:
        """Tells of every pod once, through a web socket."""
        accepted = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + WEB_SOCKET).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accepted).decode())
        self.end_headers()
        told: set[str] = set()
        while True:
            with self.server.changed:
                for name, pod in self.server.pods.items():
                    if name not in told and wanted(pod, self.path):
                        self.tell(json.dumps({"type": "ADDED", "object": pod}).encode())
                        told.add(name)
                self.server.changed.wait()

    def tell(self, content: bytes) -> None:
        """Sends a message through the web socket; all of them need two bytes for their length."""
        self.wfile.write(b"\x81\x7e" + len(content).to_bytes(2) + content)
        self.wfile.flush()

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        """Sends an answer."""
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def wanted(pod: dict[str, Any], path: str) -> bool:
    """Whether a request means a pod: by field those of the driver, by label executors."""
    return ("fieldSelector" in path) == (pod["metadata"]["name"] == "driver")


def start(cluster: Cluster, java: Mapping[str, str], settings: Mapping[str, str]) -> Any:
    """A Spark context whose executors run in the cluster; `java` has the options of its JVMs."""
    from pyspark import SparkConf, SparkContext

    threading.Thread(target=cluster.serve_forever, daemon=True).start()
    conf = SparkConf().setMaster(f"k8s://http://{HOST}:{cluster.server_address[1]}").setAppName("training")
    conf.setAll([(f"spark.{who}.extraJavaOptions", options) for who, options in java.items()])
    return SparkContext(conf=conf.setAll([*SETTINGS.items(), *settings.items()]))


def train(folder: Path) -> list[Path]:
    """Runs a job, and returns the lists of classes of its JVMs."""
    lists = {who: folder / f"{who}.classes" for who in ("driver", "executor")}
    java = {who: f"{OPTIONS} -Djava.io.tmpdir={folder} -XX:DumpLoadedClassList={lists[who]}" for who in lists}
    cluster = Cluster()
    context = start(cluster, java, {})
    work = context.parallelize(range(TASKS), TASKS)
    assert sorted(work.map(lambda number: number + 1).collect()) == list(range(1, TASKS + 1))
    gateway = context._gateway
    context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    for process in (gateway.proc, *cluster.executors):
        process.wait(60)
    return list(lists.values())


def archive(lists: list[Path], folder: Path) -> None:
    """Archives the classes in some lists."""
    lines = {line: None for path in lists for line in path.read_text().splitlines()}
    merged = folder / "classes"
    merged.write_text("\n".join(lines) + "\n")
    jars = ":".join(str(path) for path in sorted((SPARK / "jars").glob("*.jar")))
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    options = [
        "-Xshare:dump",
        "-XX:-UsePerfData",
        "-XX:+UseSerialGC",
        f"-XX:SharedClassListFile={merged}",
        f"-XX:SharedArchiveFile={ARCHIVE}",
    ]
    done = subprocess.run([java, *options, "-cp", jars], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    print(f"{len(lines)} classes, {ARCHIVE.stat().st_size >> 20} MiB")


def main() -> None:
    """Trains, and archives."""
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"TMPDIR": name, "SPARK_LOCAL_DIRS": name}
        archive(train(Path(name)), Path(name))


if __name__ == "__main__":
    main()
