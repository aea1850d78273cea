"""The client against a real API server: what comes back, and which error stands for which refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.chart.accounts import kubeconfig_of
from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.cluster.client import ClusterClient, connect, load_configuration
from lithify.errors import (
    ClusterConflict,
    ClusterExists,
    ClusterRefused,
    ClusterUnavailable,
    InvalidOption,
)
from lithify.resources.names import CATALOG, POD, SECRET, ObjectKey, ResourceKind

CATALOG_BODY = {
    "apiVersion": CATALOG.api_version,
    "kind": "Catalog",
    "metadata": {"name": "lake", "labels": {"team": "a"}},
    "spec": {"warehouse": "/warehouse"},
}


@pytest.mark.asyncio
async def test_an_object_is_created_read_listed_patched_and_deleted(
    api: ClusterClient, namespace: str
) -> None:
    key = ObjectKey(namespace, "lake")
    assert await api.get(CATALOG, key) is None
    created = await api.create(CATALOG, namespace, CATALOG_BODY)
    found = await api.get(CATALOG, key)
    assert found == created
    assert [item["metadata"]["uid"] for item in await api.list(CATALOG, namespace, "team=a")] == [
        created["metadata"]["uid"]
    ]
    assert await api.list(CATALOG, namespace, "team=b") == []
    assert created["metadata"]["uid"] in {item["metadata"]["uid"] for item in await api.list(CATALOG)}
    patched = await api.patch(CATALOG, key, {"spec": {"timeoutSeconds": 7}})
    assert patched is not None
    assert patched["spec"]["timeoutSeconds"] == 7
    await api.delete(CATALOG, key)
    assert await api.get(CATALOG, key) is None


@pytest.mark.asyncio
async def test_status_is_a_resource_of_its_own(api: ClusterClient, namespace: str) -> None:
    created = await api.create(CATALOG, namespace, CATALOG_BODY)
    assert created["status"] == {"observedGeneration": -1}
    patch = {"status": {"observedGeneration": 1, "tables": 3}, "spec": {"timeoutSeconds": 9}}
    patched = await api.patch(CATALOG, ObjectKey(namespace, "lake"), patch, subresource="status")
    assert patched is not None
    assert patched["status"] == {"observedGeneration": 1, "tables": 3}
    assert patched["spec"] == created["spec"]


@pytest.mark.asyncio
async def test_a_list_of_many_pages_is_whole(
    api: ClusterClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.controller.cluster.client._PAGE", 3)
    for number in range(7):
        body = {**CATALOG_BODY, "metadata": {"name": f"lake-{number}"}}
        await api.create(CATALOG, namespace, body)
    names = [item["metadata"]["name"] for item in await api.list(CATALOG, namespace)]
    assert sorted(names) == [f"lake-{number}" for number in range(7)]


@pytest.mark.asyncio
async def test_refusals_have_classes(api: ClusterClient, namespace: str) -> None:
    created = await api.create(CATALOG, namespace, CATALOG_BODY)
    key = ObjectKey(namespace, "lake")
    with pytest.raises(ClusterExists):
        await api.create(CATALOG, namespace, CATALOG_BODY)
    version = created["metadata"]["resourceVersion"]
    await api.patch(CATALOG, key, {"metadata": {"annotations": {"a": "b"}}})
    stale = {"metadata": {"resourceVersion": version}, "status": {"tables": 1}}
    with pytest.raises(ClusterConflict):
        await api.patch(CATALOG, key, stale, subresource="status")
    with pytest.raises(ClusterRefused, match="uri is required"):
        await api.patch(CATALOG, key, {"spec": {"metastore": "Rest"}})
    with pytest.raises(ClusterRefused):
        await api.create(CATALOG, f"{namespace}-missing", CATALOG_BODY)
    with pytest.raises(ClusterRefused, match="CRDs"):
        await api.list(ResourceKind("Nothing", "nothings"), namespace)


@pytest.mark.asyncio
async def test_a_missing_object_is_none_and_another_uid_is_left_alone(
    api: ClusterClient, namespace: str
) -> None:
    key = ObjectKey(namespace, "lake")
    assert await api.patch(CATALOG, key, {"spec": {"timeoutSeconds": 7}}) is None
    await api.delete(CATALOG, key)
    await api.create(CATALOG, namespace, CATALOG_BODY)
    await api.delete(CATALOG, key, uid="of-another-one")
    await api.delete(CATALOG, key, version="1")
    assert await api.get(CATALOG, key) is not None


@pytest.mark.asyncio
async def test_a_server_that_does_not_answer_is_unavailable(cluster: Cluster) -> None:
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    configuration.host = "https://127.0.0.1:9"
    async with connect(configuration) as client:
        with pytest.raises(ClusterUnavailable):
            await client.get(CATALOG, ObjectKey("default", "lake"))


@pytest.mark.asyncio
async def test_an_account_without_rights_is_refused(
    cluster: Cluster, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "serviceaccount", "nobody")
    token = kubectl("create", "token", "nobody").strip()
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    configuration.cert_file = configuration.key_file = None
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    async with connect(configuration) as client:
        with pytest.raises(ClusterRefused, match="forbidden"):
            await client.get(SECRET, ObjectKey(namespace, "any"))
        with pytest.raises(ClusterRefused):
            await client.list(POD, namespace)


@pytest.mark.asyncio
@pytest.mark.parametrize("content", ["", "nonsense", "apiVersion: v1\nkind: Config\n"])
async def test_a_kubeconfig_that_cannot_be_used_is_an_option_error(tmp_path, content) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(InvalidOption):
        await load_configuration(str(path), None)


@pytest.mark.asyncio
async def test_requests_are_measured(cluster: Cluster, namespace: str) -> None:
    seen: list[tuple[str, str, int]] = []
    configuration = await load_configuration(str(cluster.kubeconfig), None)
    async with connect(
        configuration, lambda verb, kind, code, _: seen.append((verb, kind.name, code))
    ) as api:
        await api.get(CATALOG, ObjectKey(namespace, "lake"))
        await api.create(CATALOG, namespace, CATALOG_BODY)
    assert seen == [("GET", "Catalog", 404), ("POST", "Catalog", 201)]


@pytest.mark.asyncio
async def test_a_namespace_that_refuses_hides_no_other(
    kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    kubectl.apply(CATALOG_BODY)
    kubectl("create", "serviceaccount", "narrow")
    kubectl("create", "role", "narrow", "--verb=list", "--resource=catalogs.lithify.dev")
    kubectl("create", "rolebinding", "narrow", "--role=narrow", f"--serviceaccount={namespace}:narrow")
    configuration = await load_configuration(str(kubeconfig_of(kubectl, namespace, "narrow", tmp_path)), None)

    async with connect(configuration, namespaces=(namespace, "nobody-made-this")) as api:
        assert [item["metadata"]["name"] for item in await api.list(CATALOG)] == ["lake"]
    async with connect(configuration, namespaces=("nobody-made-this",)) as api:
        with pytest.raises(ClusterRefused):
            await api.list(CATALOG)


@pytest.mark.asyncio
async def test_what_exceeds_a_quota_may_pass_later(
    api: ClusterClient, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "quota", "none", "--hard=pods=0")
    kubectl("wait", "quota/none", "--for=jsonpath={.status.hard.pods}=0", "--timeout=60s")
    spec = {"containers": [{"name": "any", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one-too-many"}, "spec": spec}

    with pytest.raises(ClusterUnavailable):
        await api.create(POD, namespace, pod)
