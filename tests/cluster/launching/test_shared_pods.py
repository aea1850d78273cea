"""Drivers as pods that several Compactions share, on a real API server; there is no node."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.clock import SystemClock
from lithify.contract.outcome import (
    Outcome,
    Progress,
    Stage,
    write_outcome,
    write_progress,
    write_shared_outcome,
)
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, SharedDriver
from lithify.controller.launching.kubernetes import KubernetesLauncher
from lithify.controller.launching.pod import LABEL_ROLE, PodSettings, driver_pod, pod_key, shared_pod_key
from lithify.controller.launching.shared_pods import SharedPods, members_of
from lithify.engine.application.exchange import PodExchange
from lithify.engine.application.pod import PodAddress
from lithify.errors import ClusterRefused
from lithify.resources.compaction import Reason
from lithify.resources.names import COMPACTION, OUTCOME_PREFIX, POD, ObjectKey
from support.launching.orders import order
from support.operators.server import proxied

SETTINGS = PodSettings(image="lithify:test", isolated=True)
TIMES = {"startedAt": "2026-05-04T11:00:00Z", "finishedAt": "2026-05-04T11:01:00Z"}


@pytest_asyncio.fixture
async def api(cluster: Cluster, kubectl: Kubectl) -> AsyncIterator[ClusterClient]:
    kubectl("create", "serviceaccount", "lithify-driver")
    async with connect(await load_configuration(str(cluster.kubeconfig), None)) as client:
        yield client


@pytest.fixture
def launcher(api: ClusterClient) -> KubernetesLauncher:
    return KubernetesLauncher(api, SETTINGS, SystemClock())


@pytest.fixture
def drivers(launcher: KubernetesLauncher) -> SharedPods:
    found = launcher.shared
    assert isinstance(found, SharedPods)
    return found


@pytest_asyncio.fixture
async def orders(api: ClusterClient, namespace: str) -> list[DriverOrder]:
    """Orders of three Compactions that exist."""
    made = []
    for name in ("orders-1", "items-1", "users-1"):
        body = {
            "apiVersion": COMPACTION.api_version,
            "kind": COMPACTION.name,
            "metadata": {"name": name},
            "spec": {"tableRef": {"name": name[:-2]}},
        }
        found = await api.create(COMPACTION, namespace, body)
        uid = found["metadata"]["uid"]
        made.append(order(key=ObjectKey(namespace, name), uid=uid, name=f"shop.{name[:-2]}"))
    return made


async def annotate(api: ClusterClient, lead: ObjectKey, progress: Progress) -> None:
    annotations = {"lithify.dev/progress": write_progress(progress)}
    await api.patch(POD, shared_pod_key(lead), {"metadata": {"annotations": annotations}})


@pytest.mark.asyncio
async def test_one_pod_belongs_to_all_and_is_nobody_s_own(
    api: ClusterClient, launcher: KubernetesLauncher, drivers: SharedPods, orders: list[DriverOrder]
) -> None:
    lead = orders[0].key
    await drivers.start(orders)
    await drivers.start(orders)  # as an operator does that was killed before it heard the answer

    driver = await drivers.observe(lead)

    assert driver is not None
    assert [member.uid for member in driver.members] == [each.uid for each in orders]
    pod = await api.get(POD, shared_pod_key(lead))
    assert pod is not None
    assert {owner["uid"] for owner in pod["metadata"]["ownerReferences"]} == {each.uid for each in orders}
    assert await launcher.observe(lead) is None
    assert lead not in [key for key, _ in await launcher.all()]
    assert [found.lead for found in await drivers.all() if found.lead.namespace == lead.namespace] == [lead]
    assert await drivers.observe(orders[1].key) is None


@pytest.mark.asyncio
async def test_outcomes_of_single_runs_and_wishes_to_end_one_pass_through_the_pod(
    cluster: Cluster, api: ClusterClient, drivers: SharedPods, orders: list[DriverOrder], tmp_path: Path
) -> None:
    lead, first, second, third = orders[0].key, *(each.uid for each in orders)
    await drivers.start(orders)
    (tmp_path / "token").write_text("-")
    with proxied(cluster) as port:
        key = shared_pod_key(lead)
        exchange = PodExchange(PodAddress("127.0.0.1", port, key.namespace, key.name, tmp_path))
        assert exchange.tell(Outcome(run=first, attempt=1, reason=Reason.COMPACTED))
        found = await drivers.observe(lead)
        assert found is not None
        await drivers.stop_member(found, third)
        assert set(exchange.unwanted()) == {third}
        gone = PodExchange(PodAddress("127.0.0.1", port, key.namespace, "gone", tmp_path))
        assert not gone.tell(Outcome(run=first, attempt=1, reason=Reason.COMPACTED))
        assert set(gone.unwanted()) == set()
    await annotate(api, lead, Progress(stage=Stage.RUNNING, run=second))

    found = await drivers.observe(lead)

    assert found is not None
    assert (set(found.outcomes), found.stopped) == ({first}, {third})
    done, stopped = found.of_member(first), found.of_member(third)
    assert done is not None
    assert stopped is not None
    assert (done.phase, stopped.terminating) == (DriverPhase.ENDED, True)


@pytest.mark.asyncio
async def test_last_words_are_read_and_the_pod_is_let_go(
    api: ClusterClient, drivers: SharedPods, orders: list[DriverOrder], kubectl: Kubectl
) -> None:
    lead = orders[0].key
    await drivers.start(orders)
    last = write_shared_outcome([Outcome(run=orders[2].uid, attempt=1, reason=Reason.CORRUPT_TABLE)])
    ended = {"exitCode": 0, "reason": "Completed", "message": last, **TIMES}
    container = {
        "name": "spark",
        "state": {"terminated": ended},
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
    }
    pod = await api.get(POD, shared_pod_key(lead))
    assert pod is not None
    container["name"] = pod["spec"]["containers"][0]["name"]
    status = {"phase": "Succeeded", "containerStatuses": [container]}
    text = json.dumps({"status": status})
    kubectl("patch", "pod", shared_pod_key(lead).name, "--subresource=status", "--type=merge", "-p", text)

    found = await drivers.observe(lead)
    assert found is not None
    assert found.state.phase is DriverPhase.ENDED
    assert {uid: outcome.reason for uid, outcome in found.outcomes.items()} == {
        orders[2].uid: Reason.CORRUPT_TABLE
    }
    await drivers.release(found)
    await drivers.release(found)

    pod = await api.get(POD, shared_pod_key(lead))
    assert pod is None or not pod["metadata"].get("finalizers")
    assert lead not in [each.lead for each in await drivers.all()]


@pytest.mark.asyncio
async def test_a_pod_of_the_name_that_is_somebody_s_own_is_left_alone(
    api: ClusterClient, drivers: SharedPods, orders: list[DriverOrder]
) -> None:
    lead = orders[0].key
    name = shared_pod_key(lead).name
    spec = {"containers": [{"name": "own", "image": "own"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    await api.create(POD, lead.namespace, body)
    with pytest.raises(ClusterRefused, match=name):
        await drivers.start(orders)
    assert await drivers.observe(lead) is None
    found = await api.get(POD, shared_pod_key(lead))
    assert found is not None
    assert members_of(found) == ()


@pytest.mark.asyncio
@pytest.mark.parametrize("lacks", ["ownerReferences", "labels"])
async def test_a_pod_that_claims_to_be_shared_is_neither_read_nor_deleted(
    api: ClusterClient, drivers: SharedPods, orders: list[DriverOrder], lacks: str
) -> None:
    """A copy of the real pod, made by somebody else before the operator: it lacks the owners, or a label."""
    lead = orders[0]
    claimed = driver_pod(lead, SETTINGS, orders)
    if lacks == "ownerReferences":
        del claimed["metadata"]["ownerReferences"]
    else:
        del claimed["metadata"]["labels"][LABEL_ROLE]
    lie = Outcome(run=lead.uid, attempt=1, reason=Reason.COMPACTED, committed_snapshot_id="9")
    claimed["metadata"]["annotations"][f"{OUTCOME_PREFIX}{lead.uid}"] = write_outcome(lie)
    made = await api.create(POD, lead.key.namespace, claimed)

    with pytest.raises(ClusterRefused):
        await drivers.start(orders)
    assert await drivers.observe(lead.key) is None
    assert lead.key not in [found.lead for found in await drivers.all()]
    state = DriverState(made["metadata"]["name"], made["metadata"]["uid"], "", 1, DriverPhase.ENDED)
    await drivers.release(SharedDriver(lead.key, state, ()))

    found = await api.get(POD, shared_pod_key(lead.key))
    assert found is not None
    assert found["metadata"]["finalizers"] == made["metadata"]["finalizers"]
    assert "deletionTimestamp" not in found["metadata"]


@pytest.mark.asyncio
async def test_an_outcome_counts_only_for_the_run_that_it_names(
    api: ClusterClient, drivers: SharedPods, orders: list[DriverOrder]
) -> None:
    lead, first, second, third = orders[0].key, *(each.uid for each in orders)
    await drivers.start(orders)
    told = {
        first: Outcome(run=first, attempt=1, reason=Reason.NOTHING_TO_DO),
        second: Outcome(run=first, attempt=1, reason=Reason.COMPACTED, committed_snapshot_id="7"),
        third: Outcome(run="a-run-of-nobody", attempt=1, reason=Reason.COMPACTED),
        "a-run-of-nobody": Outcome(run="a-run-of-nobody", attempt=1, reason=Reason.COMPACTED),
    }
    annotations = {f"{OUTCOME_PREFIX}{uid}": write_outcome(one) for uid, one in told.items()}
    await api.patch(POD, shared_pod_key(lead), {"metadata": {"annotations": annotations}})

    found = await drivers.observe(lead)

    assert found is not None
    assert dict(found.outcomes) == {first: told[first]}


def test_names_stay_short_and_apart() -> None:
    long = ObjectKey("lake", "x" * 52)
    assert len(shared_pod_key(long).name) <= 63
    assert shared_pod_key(long) != pod_key(long)
    assert shared_pod_key(long) != shared_pod_key(ObjectKey("lake", "x" * 51 + "y"))
