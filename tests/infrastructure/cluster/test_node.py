"""The test node itself: what the tests that run pods rely on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from infrastructure.cluster import supervisor
from infrastructure.cluster.containerd import ImportFailed
from infrastructure.cluster.kubectl import Kubectl, KubectlFailed
from infrastructure.cluster.node import Node
from infrastructure.cluster.requirements import node_problem
from infrastructure.cluster.small_images import PROBE, write_probe
from infrastructure.expansion.program import Container, expand

TOKEN = "/var/run/secrets/tokens/token"
POD_SECONDS = 120.0
TESTS = Path(__file__).resolve().parents[2]
HOLD = """
import sys
from pathlib import Path
from infrastructure.cluster.node import Node
with Node(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="session")
def probe(node: Node, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an image with a shell."""
    archive = tmp_path_factory.mktemp("probe") / "probe.tar"
    write_probe(archive)
    node.import_image(archive)
    return PROBE


@pytest.fixture
def kubectl(node: Node, node_namespace: str) -> Kubectl:
    """kubectl in the test's namespace on the node."""
    return node.kubectl.within(node_namespace)


def pod(name: str, script: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod that runs a script once."""
    shell = {"name": "main", "image": PROBE, "command": ["sh", "-c", script], **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [shell],
            **spec,
        },
    }


def until(holds: Callable[[], bool], seconds: float = POD_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def ended(kubectl: Kubectl, name: str) -> dict[str, Any]:
    """How a pod's only container ended, once it has."""
    finished = "{.status.containerStatuses[0].state.terminated}"
    kubectl("wait", f"--for=jsonpath={finished}", f"--timeout={POD_SECONDS:g}s", f"pod/{name}")
    found: dict[str, Any] = kubectl.get("pod", name)["status"]["containerStatuses"][0]["state"]["terminated"]
    return found


def said(kubectl: Kubectl, name: str) -> str:
    """What a pod wrote, once it has ended well."""
    end = ended(kubectl, name)
    output = kubectl("logs", name)
    assert end["exitCode"] == 0, output
    return output


def test_a_pod_runs_and_its_end_is_told(probe: str, kubectl: Kubectl) -> None:
    kubectl.apply(pod("main", "echo hello; echo because > /dev/termination-log; exit 7"))
    end = ended(kubectl, "main")
    assert (end["exitCode"], end["reason"], end["message"]) == (7, "Error", "because\n")
    assert kubectl("logs", "main") == "hello\n"


def test_the_kubelet_expands_variables_as_our_program_says(probe: str, kubectl: Kubectl) -> None:
    """Tests of drivers' pods go by that program."""
    kubectl("create", "secret", "generic", "db", "--from-literal=password=secret")
    secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    texts = [
        "$(PASSWORD)",
        "$$(PASSWORD)",
        "$$$(PASSWORD)",
        "$(NONE)",
        "$(PASSWORD",
        "$$",
        "\\u0024(PASSWORD)",
    ]
    env = [{"name": f"TEXT_{number}", "value": text} for number, text in enumerate(texts)]
    lines = "; ".join(f'printf "%s\\n" "$TEXT_{number}"' for number in range(len(texts)))
    kubectl.apply(pod("main", lines, {"env": [secret, *env]}))
    container = {"env": env, "command": [], "args": []}
    (found,) = expand([Container(container, {"PASSWORD": "secret"})])
    assert said(kubectl, "main").splitlines() == list(found.variables.values())
    assert found.variables["TEXT_2"] == "$secret"


def test_a_pod_that_takes_too_much_memory_is_killed_and_the_reason_is_told(
    probe: str, kubectl: Kubectl
) -> None:
    # tail keeps a line until it ends, and this one never does.
    limits = {"resources": {"limits": {"memory": "32Mi"}}}
    kubectl.apply(pod("main", "tail /dev/zero", limits))
    end = ended(kubectl, "main")
    assert (end["exitCode"], end["reason"]) == (137, "OOMKilled")


def test_a_pod_of_the_restricted_standard_runs_and_another_is_refused(
    probe: str, node_namespace: str, node: Node, kubectl: Kubectl
) -> None:
    node.kubectl("label", "namespace", node_namespace, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(KubectlFailed, match="violates PodSecurity"):
        kubectl.apply(pod("root", "id"))
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    mounts = [{"name": "tmp", "mountPath": "/tmp"}]
    kubectl.apply(
        pod(
            "main",
            "touch /file || touch /tmp/file && id -u",
            {"securityContext": security, "volumeMounts": mounts},
            volumes=[{"name": "tmp", "emptyDir": {}}],
        )
    )
    assert "185" in said(kubectl, "main").splitlines()  # both streams are there, in any order


def test_a_pod_finds_the_api_server_by_name_and_its_token_counts_for_its_audience(
    probe: str, node: Node, kubectl: Kubectl
) -> None:
    url = "https://kubernetes.default.svc.cluster.local/api/v1/namespaces/default/pods"
    ask = f'wget -q -O- --header "Authorization: Bearer $(cat {TOKEN})" {url}'
    kubectl("create", "serviceaccount", "asker")
    node.kubectl(
        "create",
        "clusterrolebinding",
        str(kubectl.namespace),
        "--clusterrole=view",
        f"--serviceaccount={kubectl.namespace}:asker",
    )
    try:
        kubectl.apply(with_token("right", f"nslookup -type=a kubernetes.default.svc.cluster.local && {ask}"))
        kubectl.apply(with_token("wrong", f"{ask} 2>&1 || true", audience="somebody-else"))
        assert '"kind": "PodList"' in said(kubectl, "right")
        assert "401 Unauthorized" in said(kubectl, "wrong")
    finally:
        node.kubectl("delete", "clusterrolebinding", str(kubectl.namespace))


def with_token(name: str, script: str, **audience: str) -> dict[str, Any]:
    """A pod with a token that is bound to it."""
    source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600, **audience}}
    return pod(
        name,
        script,
        {"volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/tokens"}]},
        serviceAccountName="asker",
        volumes=[{"name": "token", "projected": {"sources": [source]}}],
    )


def test_a_service_reaches_the_pods_of_a_deployment(probe: str, node: Node, kubectl: Kubectl) -> None:
    serve = "mkdir /tmp/www && echo here > /tmp/www/index.html && httpd -f -p 8080 -h /tmp/www"
    template = pod("server", serve)
    del template["spec"]["restartPolicy"]
    labels = template["metadata"]["labels"]
    kubectl.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "server"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "server"},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
        },
    )
    kubectl("rollout", "status", "deployment/server", "--timeout=120s")
    kubectl.apply(pod("main", "until timeout 2 wget -q -O- http://server; do sleep 0.2; done"))
    assert said(kubectl, "main") == "here\n"
    address = kubectl.get("service", "server")["spec"]["clusterIP"]
    fetch = (
        f"import urllib.request as u; print(u.urlopen('http://{address}', timeout=5).read().decode(), end='')"
    )
    assert node.run_inside(sys.executable, "-c", fetch) == "here\n"


def test_a_pod_reaches_this_machine_and_nothing_beyond(probe: str, node: Node, kubectl: Kubectl) -> None:
    with ThreadingHTTPServer((node.host_address, 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever).start()
        try:
            url = f"http://{node.host_address}:{server.server_port}"
            kubectl.apply(
                pod("near", f"timeout 5 wget -q -O /dev/null {url}"),
                pod("far", "timeout 5 wget -O- http://1.1.1.1 2>&1 || true"),
            )
            said(kubectl, "near")
            assert "unreachable" in said(kubectl, "far")
        finally:
            server.shutdown()


def test_the_api_server_comes_back_and_pods_do_not_notice(probe: str, node: Node, kubectl: Kubectl) -> None:
    kubectl.apply(pod("main", "until [ -e /tmp/over ]; do sleep 0.1; done; echo survived"))
    kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/main")
    before = kubectl.get("pod", "main")["metadata"]["uid"]
    node.restart_api_server()
    kubectl("exec", "main", "--", "sh", "-c", "> /tmp/over")
    assert said(kubectl, "main") == "survived\n"
    assert kubectl.get("pod", "main")["metadata"]["uid"] == before


def test_an_image_is_imported_once_and_what_is_no_image_is_refused(
    probe: str, node: Node, tmp_path: Path
) -> None:
    archive = tmp_path / "probe.tar"
    write_probe(archive)
    assert not node.import_image(archive)
    bad = tmp_path / "bad.tar"
    subprocess.run(["tar", "-cf", str(bad), "-C", str(tmp_path), "probe.tar"], check=True)
    with pytest.raises(ImportFailed):
        node.import_image(bad)


@pytest.mark.node
@pytest.mark.parametrize("victim", ["holder", "supervisor"])
def test_nothing_is_left_of_a_node_whose_holder_or_supervisor_is_killed(victim: str, tmp_path: Path) -> None:
    if (problem := node_problem()) is not None:
        pytest.skip(problem)
    probe = tmp_path / "probe.tar"
    write_probe(probe)
    state = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            node = Node(state)
            node.import_image(probe)
            node.kubectl.within("default").apply(pod("main", "sleep 1000"))
            node.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/main")
            device = devices(node.name)
            assert device
            inside = processes(node.name)
            assert inside
            programs = supervisor.pids(state)
            os.kill({**programs, "holder": holder.pid}[victim], signal.SIGKILL)
            until(lambda: not supervisor.is_running(state))
            until(lambda: not any(is_alive(pid) for pid in inside.union(programs.values())))
            until(lambda: devices(node.name) != device)
        finally:
            holder.kill()
    assert str(state) not in Path("/proc/mounts").read_text()
    if victim == "holder":
        assert not list(Path("/sys/fs/cgroup").glob(f"**/{node.name}"))
        assert not (state / "etcd").exists()


def processes(group: str) -> set[int]:
    """The processes of a control group and of what is below it."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        with suppress(OSError):  # It ends while we look.
            if f"/{group}/" in path.read_text():
                found.add(int(path.parent.name))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


def devices(name: str) -> set[int]:
    """The number of a network device of this machine, if there is one; the next of that name has another."""
    return {number for number, device in socket.if_nameindex() if device == name}
