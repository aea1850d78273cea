"""Drivers as pods on a real API server. There is no node: the tests report what its kubelet would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest
import pytest_asyncio

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.clock import SystemClock
from lithify.contract.outcome import Outcome, Progress, Stage, write_outcome, write_progress
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, Trouble
from lithify.controller.launching.kubernetes import KubernetesLauncher
from lithify.controller.launching.pod import PodSettings
from lithify.controller.launching.spark_conf import executor_prefix
from lithify.errors import ClusterRefused
from lithify.resources.catalog import SecretReference
from lithify.resources.compaction import Reason
from lithify.resources.names import COMPACTION, POD, ObjectKey
from lithify.resources.spark_template import DriverPod, SparkTemplate
from support.launching.orders import order

DEADLINE = 60.0
NAME = "orders-1"
DRIVER = "orders-1-lithify"
SETTINGS = PodSettings(image="lithify:test")


@pytest_asyncio.fixture
async def api(cluster: Cluster, kubectl: Kubectl) -> AsyncIterator[ClusterClient]:
    kubectl("create", "serviceaccount", "lithify-driver")
    async with connect(await load_configuration(str(cluster.kubeconfig), None)) as client:
        yield client


@pytest.fixture
def launcher(api: ClusterClient) -> KubernetesLauncher:
    return KubernetesLauncher(api, SETTINGS, SystemClock())


@pytest.fixture
def key(namespace: str) -> ObjectKey:
    return ObjectKey(namespace, NAME)


@pytest_asyncio.fixture
async def ordered(api: ClusterClient, key: ObjectKey) -> DriverOrder:
    """An order for a Compaction that exists, or its pod would be collected at once."""
    body = {
        "apiVersion": COMPACTION.api_version,
        "kind": COMPACTION.name,
        "metadata": {"name": NAME},
        "spec": {"tableRef": {"name": "orders"}},
    }
    made = await api.create(COMPACTION, key.namespace, body)
    return order(key=key, uid=made["metadata"]["uid"])


class Kubelet:
    """What a node would do with the pod."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def takes(self) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": DRIVER},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
        }
        path = f"/api/v1/namespaces/{self._kubectl.namespace}/pods/{DRIVER}/binding"
        self._kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))

    def reports(self, phase: str, **state: Any) -> None:
        container = {
            "name": "lithify",
            "state": state,
            "ready": phase == "Running",
            "restartCount": 0,
            "image": "lithify:test",
            "imageID": "",
        }
        status = {"status": {"phase": phase, "containerStatuses": [container]}}
        self._kubectl(
            "patch", "pod", DRIVER, "--subresource=status", "--type=merge", "-p", json.dumps(status)
        )

    def ends(self, code: int, message: str, reason: str = "Completed") -> None:
        times = {"startedAt": "2026-05-04T11:00:00Z", "finishedAt": "2026-05-04T11:01:00Z"}
        ended = {"exitCode": code, "reason": reason, "message": message, **times}
        self.reports("Succeeded" if code == 0 else "Failed", terminated=ended)


@pytest.fixture
def kubelet(kubectl: Kubectl) -> Kubelet:
    return Kubelet(kubectl)


async def until(
    launcher: KubernetesLauncher, key: ObjectKey, holds: Callable[[DriverState | None], bool]
) -> DriverState | None:
    deadline = monotonic() + DEADLINE
    while monotonic() < deadline:
        state = await launcher.observe(key)
        if holds(state):
            return state
        await asyncio.sleep(0.05)
    raise AssertionError(f"not in time: {state}")


def executor_of(app: str, name: str, owner: dict[str, Any], uid: str) -> dict[str, Any]:
    """A pod as Spark makes it, for which there is no room."""
    reference = {name: owner[name] for name in ("apiVersion", "kind", "name")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"spark-app-selector": app, "spark-role": "executor"},
            "ownerReferences": [{**reference, "uid": uid}],
        },
        "spec": {
            "nodeSelector": {"no": "where"},
            "serviceAccountName": "lithify-driver",
            "containers": [{"name": "x", "image": "x"}],
        },
    }


@pytest.mark.asyncio
class TestLife:
    async def test_from_start_to_removal(
        self, launcher: KubernetesLauncher, api: ClusterClient, ordered: DriverOrder, kubelet: Kubelet
    ) -> None:
        key = ordered.key
        started = await launcher.start(ordered)
        assert (started.name, started.owner_uid, started.attempt) == (DRIVER, ordered.uid, 1)
        assert (started.phase, started.terminating, started.released) == (DriverPhase.STARTING, False, False)
        assert (key, started.uid) in await launcher.all()
        again = await launcher.start(replace(ordered, attempt=2))
        assert (again.uid, again.attempt) == (started.uid, 1)

        kubelet.takes()
        kubelet.reports("Running", running={"startedAt": "2026-05-04T11:00:00Z"})
        progress = Progress(stage=Stage.RUNNING, done=1, total=4)
        note = {"metadata": {"annotations": {"lithify.dev/progress": write_progress(progress)}}}
        await api.patch(POD, ObjectKey(key.namespace, DRIVER), note)
        running = await launcher.observe(key)
        assert running is not None
        assert (running.phase, running.progress, running.trouble) == (DriverPhase.RUNNING, progress, None)

        outcome = Outcome(run=ordered.uid, attempt=1, reason=Reason.COMPACTED, committed_snapshot_id="3")
        kubelet.ends(0, write_outcome(outcome))
        ended = await launcher.observe(key)
        assert ended is not None
        assert (ended.phase, ended.outcome, ended.exit_code) == (DriverPhase.ENDED, outcome, 0)

        await launcher.release(key, "another", remove=True)
        assert await launcher.observe(key) == ended
        await launcher.release(key, started.uid, remove=False)
        kept = await launcher.observe(key)
        assert kept is not None
        assert (kept.released, kept.outcome) == (True, outcome)
        assert key not in [found for found, _ in await launcher.all()]
        await launcher.release(key, started.uid, remove=True)
        assert await launcher.observe(key) is None
        await launcher.stop(key, started.uid)
        await launcher.release(key, started.uid, remove=True)

    @pytest.mark.parametrize("remove", [False, True])
    async def test_executors_go_with_it_and_others_stay(
        self,
        launcher: KubernetesLauncher,
        ordered: DriverOrder,
        kubelet: Kubelet,
        kubectl: Kubectl,
        remove: bool,
    ) -> None:
        started = await launcher.start(ordered)
        kubelet.takes()
        kubelet.ends(137, "", reason="OOMKilled")
        driver = kubectl.get("pod", DRIVER)
        app = driver["metadata"]["labels"]["spark-app-selector"]
        kubectl.apply(
            executor_of(app, "its-own", {"apiVersion": "v1", "kind": "Pod", "name": DRIVER}, started.uid),
            executor_of(app, "another", driver["metadata"]["ownerReferences"][0], ordered.uid),
        )
        await launcher.release(ordered.key, started.uid, remove=remove)
        left = kubectl("get", "pods", "-o", "name").split()
        assert left == ["pod/another"] if remove else ["pod/another", f"pod/{DRIVER}"]

    async def test_result_outlives_deletion_by_anybody(
        self, launcher: KubernetesLauncher, ordered: DriverOrder, kubelet: Kubelet, kubectl: Kubectl
    ) -> None:
        started = await launcher.start(ordered)
        kubelet.takes()
        kubelet.ends(0, write_outcome(Outcome(run=ordered.uid, attempt=1, reason=Reason.NOTHING_TO_DO)))
        kubectl("delete", "pod", DRIVER, "--grace-period=0", "--force", "--wait=false")

        state = await launcher.observe(ordered.key)
        assert state is not None
        assert state.outcome is not None
        assert (state.uid, state.terminating) == (started.uid, True)
        again = await launcher.start(replace(ordered, attempt=2))
        assert (again.uid, again.attempt) == (started.uid, 1)

        await launcher.release(ordered.key, started.uid, remove=False)
        await until(launcher, ordered.key, lambda state: state is None)

    async def test_stopped_before_it_had_a_node(
        self, launcher: KubernetesLauncher, ordered: DriverOrder
    ) -> None:
        started = await launcher.start(ordered)
        await launcher.stop(ordered.key, "another")
        assert not (await until(launcher, ordered.key, lambda state: state is not None)).terminating  # type: ignore[union-attr]
        await launcher.stop(ordered.key, started.uid)
        state = await launcher.observe(ordered.key)
        assert state is not None
        assert (state.phase, state.terminating, state.outcome) == (DriverPhase.ENDED, True, None)
        await launcher.release(ordered.key, started.uid, remove=True)
        assert await launcher.observe(ordered.key) is None
        assert (await launcher.start(replace(ordered, attempt=2))).attempt == 2

    async def test_stopped_while_it_runs(
        self, launcher: KubernetesLauncher, ordered: DriverOrder, kubelet: Kubelet
    ) -> None:
        started = await launcher.start(ordered)
        kubelet.takes()
        kubelet.reports("Running", running={"startedAt": "2026-05-04T11:00:00Z"})
        await launcher.stop(ordered.key, started.uid)
        stopping = await launcher.observe(ordered.key)
        assert stopping is not None
        assert (stopping.phase, stopping.terminating, stopping.trouble) == (DriverPhase.RUNNING, True, None)
        kubelet.ends(143, "", reason="Error")
        ended = await launcher.observe(ordered.key)
        assert ended is not None
        assert (ended.phase, ended.outcome, ended.exit_code) == (DriverPhase.ENDED, None, 143)

    async def test_goes_with_its_compaction_once_it_is_let_go(
        self, launcher: KubernetesLauncher, api: ClusterClient, ordered: DriverOrder
    ) -> None:
        started = await launcher.start(ordered)
        await api.delete(COMPACTION, ordered.key)
        await until(launcher, ordered.key, lambda state: state is not None and state.terminating)
        assert (ordered.key, started.uid) in await launcher.all()
        await launcher.release(ordered.key, started.uid, remove=False)
        await until(launcher, ordered.key, lambda state: state is None)


@pytest.mark.asyncio
class TestIsolation:
    async def test_a_policy_comes_before_the_pod_and_goes_with_the_run(
        self, api: ClusterClient, ordered: DriverOrder, kubelet: Kubelet, kubectl: Kubectl
    ) -> None:
        settings = replace(SETTINGS, isolated=True, egress=[{"ports": [{"port": 53}]}])
        launcher = KubernetesLauncher(api, settings, SystemClock())
        started = await launcher.start(ordered)
        await launcher.start(ordered)
        driver, (policy,) = kubectl.get("pod", DRIVER), kubectl.get("networkpolicies")["items"]
        assert policy["metadata"]["creationTimestamp"] <= driver["metadata"]["creationTimestamp"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= driver["metadata"]["labels"].items()

        stranger = {**policy, "metadata": {"name": "theirs", "namespace": ordered.key.namespace}}
        kubectl.apply(stranger)
        kubelet.takes()
        kubelet.ends(137, "", reason="OOMKilled")
        await launcher.release(ordered.key, started.uid, remove=False)
        assert kubectl("get", "networkpolicies", "-o", "name").split() == [
            "networkpolicy.networking.k8s.io/theirs"
        ]

    async def test_a_policy_of_the_name_that_is_not_ours_stays(
        self, api: ClusterClient, ordered: DriverOrder, kubelet: Kubelet, kubectl: Kubectl
    ) -> None:
        launcher = KubernetesLauncher(api, replace(SETTINGS, isolated=True), SystemClock())
        name = executor_prefix(ordered)
        kubectl.apply(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {"name": name},
                "spec": {"podSelector": {"matchLabels": {"app": "theirs"}}},
            }
        )
        started = await launcher.start(ordered)
        await launcher.stop(ordered.key, started.uid)
        await launcher.release(ordered.key, started.uid, remove=True)
        assert kubectl.get("networkpolicy", name)["spec"]["podSelector"]["matchLabels"] == {"app": "theirs"}


@pytest.mark.asyncio
class TestTrouble:
    async def test_a_pod_that_fits_nowhere_is_unschedulable(
        self, launcher: KubernetesLauncher, ordered: DriverOrder
    ) -> None:
        spark = SparkTemplate(driver=DriverPod(pod_template={"spec": {"nodeSelector": {"no": "where"}}}))
        await launcher.start(replace(ordered, spark=spark))
        state = await until(launcher, ordered.key, lambda state: state is not None and bool(state.trouble))
        assert state is not None
        assert (state.phase, state.trouble) == (DriverPhase.STARTING, Trouble.UNSCHEDULABLE)
        assert state.message

    @pytest.mark.parametrize(
        ("reason", "trouble"),
        [
            pytest.param("ImagePullBackOff", Trouble.IMAGE, id="image"),
            pytest.param("CreateContainerConfigError", Trouble.CONFIGURATION, id="configuration"),
        ],
    )
    async def test_the_reason_for_which_a_container_waits_names_the_trouble(
        self,
        launcher: KubernetesLauncher,
        ordered: DriverOrder,
        kubelet: Kubelet,
        reason: str,
        trouble: Trouble,
    ) -> None:
        await launcher.start(ordered)
        kubelet.takes()
        kubelet.reports("Pending", waiting={"reason": reason, "message": "as I said"})
        state = await launcher.observe(ordered.key)
        assert state is not None
        assert (state.phase, state.trouble) == (DriverPhase.STARTING, trouble)
        assert "as I said" in state.message


@pytest.mark.asyncio
class TestRefused:
    @pytest.mark.parametrize(
        "spark",
        [
            pytest.param(SparkTemplate(conf={"spark.master": "local"}), id="by us: a setting"),
            pytest.param(SparkTemplate(driver=DriverPod(pod_template={"spec": 1})), id="by us: a template"),
            pytest.param(
                SparkTemplate(
                    driver=DriverPod(pod_template={"spec": {"tolerations": [{"operator": "Maybe"}]}})
                ),
                id="by the API server: a template",
            ),
            pytest.param(SparkTemplate(service_account_name="nobody"), id="by the API server: an account"),
            pytest.param(
                SparkTemplate(driver=DriverPod(pod_template={"spec": {"hostNetwork": True}})),
                id="by us: the host's network",
            ),
        ],
    )
    async def test_policy_that_cannot_be_followed(
        self, launcher: KubernetesLauncher, ordered: DriverOrder, spark: SparkTemplate
    ) -> None:
        with pytest.raises(ClusterRefused):
            await launcher.start(replace(ordered, spark=spark))
        assert await launcher.observe(ordered.key) is None


@pytest.mark.asyncio
async def test_pod_is_allowed_where_pods_are_restricted(
    launcher: KubernetesLauncher, ordered: DriverOrder, kubectl: Kubectl
) -> None:
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", ordered.key.namespace, restricted)
    secret = SecretReference(name="keys", options={"s3.secret-key": "key"})
    state = await launcher.start(replace(ordered, secret_ref=secret))
    assert state.phase is DriverPhase.STARTING


@pytest.mark.asyncio
async def test_a_driver_of_the_longest_names_is_found_again(
    launcher: KubernetesLauncher, api: ClusterClient, ordered: DriverOrder
) -> None:
    key = ObjectKey(ordered.key.namespace, "x" * 52)
    body = {
        "apiVersion": COMPACTION.api_version,
        "kind": COMPACTION.name,
        "metadata": {"name": key.name},
        "spec": {"tableRef": {"name": "y" * 253}},
    }
    made = await api.create(COMPACTION, key.namespace, body)
    uid = made["metadata"]["uid"]
    state = await launcher.start(replace(ordered, key=key, uid=uid, lake_table="y" * 253))
    assert (key, state.uid) in await launcher.all()
