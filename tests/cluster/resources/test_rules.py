"""What a real API server makes of our definitions: rules, bounds, defaults, and what `kubectl` shows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes.client import ApiClient, ApiException, CustomObjectsApi
from kubernetes.config import new_client_from_config

from infrastructure.cluster.fixtures import Cluster
from infrastructure.cluster.kubectl import Kubectl
from lithify.resources.crd import DEFINITIONS, Definition
from lithify.resources.modelling import plain, read
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ResourceKind
from lithify.resources.validating import validated
from support.rule_cases import CASES, REST, RICH_RUN, RUN, TABLE, RuleCase

pytestmark = pytest.mark.cluster
each_kind = pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.kind.name)
FULL_POLICY: dict[str, Any] = {
    "timeZone": "Europe/Berlin",
    "triggers": {
        "primaryKey": {"sortedRuns": 5, "totalSizeBelow": "64Mi"},
        "append": {"smallFiles": 6, "deleteRatioPercent": 10, "smallFileAgeSeconds": 7200},
    },
    "full": {"schedule": "30 2 * * Sun", "startingDeadlineSeconds": 3600},
    "windows": [{"start": "22:00", "end": "06:00", "days": ["Mon", "Tue"]}],
    "offPeak": {"startHour": 22, "endHour": 6, "sizeRatioPercent": 20},
    "partitions": [{"region": "eu"}],
    "limits": {"activeRuns": 2, "bytesPerHour": "1Ti"},
    "spark": {
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "registry"}],
        "driver": {"podTemplate": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
        "conf": {"spark.speculation": "false"},
    },
}
SPECS: dict[ResourceKind, dict[str, Any]] = {
    CATALOG: {**REST, "discovery": {"include": ["sales.*"], "exclude": ["*.tmp_*"], "prune": "Orphan"}},
    LAKE_TABLE: {**TABLE, "tableOptions": {"target-file-size": "1g"}, "timeZone": "UTC"},
    POLICY: FULL_POLICY,
    COMPACTION: dict(RICH_RUN),
}
"""An object of each kind that sets much."""


def made(kind: ResourceKind, name: str, spec: object) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


class Server:
    """Requests without kubectl in between, whose start costs more than all that is asked here."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._api = CustomObjectsApi(client)
        self._namespace = namespace

    def create(self, kind: ResourceKind, body: Mapping[str, Any], *, keep: bool) -> dict[str, Any]:
        """Creates an object, or only asks what would come of it."""
        found: dict[str, Any] = self._api.create_namespaced_custom_object(
            *self._collection(kind), body, field_validation="Strict", **({} if keep else {"dry_run": "All"})
        )
        return found

    def replace(self, kind: ResourceKind, body: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
        """Asks what would come of replacing an object."""
        version = {"resourceVersion": old["metadata"]["resourceVersion"]}
        found: dict[str, Any] = self._api.replace_namespaced_custom_object(
            *self._collection(kind),
            body["metadata"]["name"],
            {**body, "metadata": {**body["metadata"], **version}},
            field_validation="Strict",
            dry_run="All",
        )
        return found

    def replace_status(self, kind: ResourceKind, body: Mapping[str, Any]) -> None:
        """Asks what would come of another status."""
        self._api.replace_namespaced_custom_object_status(
            *self._collection(kind), body["metadata"]["name"], body, dry_run="All"
        )

    def _collection(self, kind: ResourceKind) -> tuple[str, str, str, str]:
        return kind.group, kind.version, self._namespace, kind.plural


@pytest.fixture(scope="module")
def kept(cluster: Cluster) -> Iterator[Kubectl]:
    """kubectl in a namespace that the tests of this module share: their objects have names of their own."""
    name = f"rules-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield cluster.kubectl.within(name)
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def server(cluster: Cluster, kept: Kubectl) -> Iterator[Server]:
    """The API server in that namespace."""
    with new_client_from_config(str(cluster.kubeconfig)) as client:
        yield Server(client, str(kept.namespace))


def causes(refused: ApiException) -> list[tuple[str, str]]:
    """The fields that are wrong, and what the API server says of each."""
    details = json.loads(refused.body)["details"]
    return [(cause["field"], cause["message"]) for cause in details.get("causes", ())]


class TestRules:
    """Every rule, by an object that keeps it and one that breaks nothing but it."""

    @pytest.mark.sampled(24)
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
    def test_a_rule_tells_good_from_bad(self, case: RuleCase, server: Server) -> None:
        def send(body: dict[str, Any]) -> None:
            if case.before is None:
                server.create(case.kind, body, keep=False)
            else:
                server.replace(case.kind, body, before)

        before = server.create(case.kind, case.object(case.before), keep=True) if case.before else {}
        send(case.object(case.good, case.good_name))
        with pytest.raises(ApiException) as caught:
            send(case.object(case.bad, case.bad_name))
        ((field, message),) = causes(caught.value)
        assert field == case.field
        assert message.endswith(f": {case.message}")


def test_a_form_in_status_says_what_to_write(server: Server) -> None:
    """People do not write status, but whoever does reads a sentence, too."""
    body = made(LAKE_TABLE, "status-form", TABLE)
    found = server.create(LAKE_TABLE, body, keep=True)
    with pytest.raises(ApiException) as caught:
        server.replace_status(LAKE_TABLE, {**found, "status": {"observation": {"snapshotId": "snapshot 7"}}})
    ((field, message),) = causes(caught.value)
    assert field == "status.observation.snapshotId"
    assert "the id of a snapshot is a text of letters" in message


class TestSchema:
    """What the schema itself refuses, and fills in; `validating` must say the same."""

    @pytest.mark.parametrize(
        ("kind", "spec", "field"),
        [
            pytest.param(COMPACTION, {}, "spec.tableRef: Required value", id="missing"),
            pytest.param(
                COMPACTION, {**RUN, "stratgy": "Full"}, 'unknown field "spec.stratgy"', id="unknown"
            ),
            pytest.param(
                COMPACTION, {**RUN, "strategy": "Major"}, "spec.strategy: Unsupported", id="no-such"
            ),
            pytest.param(
                COMPACTION, {**RUN, "suspend": "yes"}, "spec.suspend: Invalid value", id="wrong-type"
            ),
            pytest.param(
                COMPACTION, {**RUN, "buckets": [-1]}, "spec.buckets[0]: Invalid value", id="too-small"
            ),
            pytest.param(
                COMPACTION,
                {**RUN, "buckets": [*range(1025)]},
                "spec.buckets: Too many",
                id="too-many",
            ),
            pytest.param(COMPACTION, {**RUN, "cause": "x" * 1025}, "spec.cause: Too long", id="too-long"),
            pytest.param(
                LAKE_TABLE,
                {**TABLE, "identifier": "orders"},
                "spec.identifier: Invalid value",
                id="no-database",
            ),
            pytest.param(
                LAKE_TABLE,
                {**TABLE, "identifier": "sales.orders$files"},
                "spec.identifier: Invalid value",
                id="system-table",
            ),
            pytest.param(
                LAKE_TABLE,
                {**TABLE, "checkIntervalSeconds": 86401},
                "spec.checkIntervalSeconds: Invalid value",
                id="too-large",
            ),
            pytest.param(
                POLICY,
                {"timeZone": "UTC", "windows": [{"start": "8:00", "end": "09:00"}]},
                "spec.windows[0].start: Invalid value",
                id="time-of-day",
            ),
            pytest.param(
                POLICY,
                {"timeZone": "UTC", "windows": [{"start": "08:00", "end": "09:00", "days": ["Mon", "Mon"]}]},
                "spec.windows[0].days[1]: Duplicate value",
                id="day-twice",
            ),
            pytest.param(
                POLICY,
                {"spark": {"executor": {"memory": 1.5}}},
                "spec.spark.executor.memory: Invalid value",
                id="fraction-without-quotes",
            ),
            pytest.param(
                CATALOG, {"warehouse": "/w", "format": "Orc"}, "spec.format: Unsupported", id="format"
            ),
            pytest.param(
                CATALOG,
                {"warehouse": "/w", "discovery": {"include": ["orders"]}},
                "spec.discovery.include[0]: Invalid value",
                id="pattern-without-database",
            ),
            pytest.param(
                CATALOG,
                {"warehouse": "/w", "discovery": {"include": ["*.*"], "prune": "Drop"}},
                "spec.discovery.prune: Unsupported value",
                id="prune",
            ),
            pytest.param(
                CATALOG,
                {"warehouse": "/w", "discovery": {"include": ["*.*"], "pruneLimitPercent": 101}},
                "spec.discovery.pruneLimitPercent: Invalid value",
                id="share-above-all",
            ),
            pytest.param(
                CATALOG,
                {"warehouse": "/w", "discovery": {"include": ["*.*"], "recreate": "Sometimes"}},
                "spec.discovery.recreate: Unsupported value",
                id="recreate",
            ),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, kind: ResourceKind, spec: dict[str, Any], field: str, server: Server
    ) -> None:
        with pytest.raises(ApiException) as caught:
            server.create(kind, made(kind, "unfit", spec), keep=False)
        assert field in json.loads(caught.value.body)["message"]

    @each_kind
    def test_defaults_are_those_of_our_own_check(self, definition: Definition, server: Server) -> None:
        body = made(definition.kind, "defaults", SPECS[definition.kind])
        found = server.create(definition.kind, body, keep=True)
        expected = validated(definition.kind, body)
        assert found["spec"] == expected["spec"]
        initial = {"observedGeneration": -1, **definition.initial}
        assert found["status"] == expected["status"] == initial

    def test_nothing_but_required_fields_is_enough(self, server: Server) -> None:
        spec = server.create(POLICY, made(POLICY, "empty", {}), keep=False)["spec"]
        assert (spec["fullCheckIntervalSeconds"], spec["limits"]) == (3600, {"activeRuns": 4})
        assert "checkIntervalSeconds" not in spec, "the table may say"
        assert spec["spark"]["executor"] == {
            "minInstances": 1,
            "maxInstances": 4,
            "cores": 1,
            "memory": "2Gi",
        }

    @each_kind
    def test_objects_survive_our_models(self, definition: Definition, server: Server) -> None:
        found = server.create(
            definition.kind, made(definition.kind, "models", SPECS[definition.kind]), keep=True
        )
        model = read(definition.model, found)
        again = made(definition.kind, "models", plain(model)["spec"])
        assert read(definition.model, server.replace(definition.kind, again, found)).spec == model.spec

    def test_status_is_written_apart_from_the_spec(self, kept: Kubectl) -> None:
        kept("create", "-f", "-", stdin=json.dumps(made(LAKE_TABLE, "apart", TABLE)))
        patch = {"spec": {"suspend": True}, "status": {"observedGeneration": 1, "runs": 3}}
        kept("patch", "laketable", "apart", "--subresource=status", "--type=merge", "-p", json.dumps(patch))
        found = kept.get("laketable", "apart")
        assert found["status"].items() >= {"observedGeneration": 1, "runs": 3}.items()
        assert found["spec"]["suspend"] is False
        assert found["metadata"]["generation"] == 1


class TestKubectl:
    """What people see."""

    @each_kind
    def test_short_names_list_the_same_objects(self, definition: Definition, kept: Kubectl) -> None:
        for name in definition.short_names:
            assert kept("get", name, "-o", "name") == kept("get", definition.kind.plural, "-o", "name")

    def test_the_category_is_all_of_them(self, cluster: Cluster) -> None:
        listed = cluster.kubectl("api-resources", "--categories=lakehouse", "-o", "name").split()
        assert sorted(listed) == sorted(f"{each.kind.plural}.lithify.dev" for each in DEFINITIONS)

    @each_kind
    def test_explain_shows_the_description_of_the_model(
        self, definition: Definition, cluster: Cluster
    ) -> None:
        text = " ".join(cluster.kubectl("explain", definition.kind.plural, "--recursive=false").split())
        assert " ".join(definition.model.__doc__.split()) in text

    @pytest.mark.parametrize(
        ("path", "sentence"),
        [
            ("compaction.spec.approval", "Manual: waits after planning for `approved: true`."),
            (
                "laketable.status.observation.mergeTree.level0Files",
                "Files in level 0, which no compaction has merged yet.",
            ),
            ("compactionpolicy.spec.spark.executor.cores", "the number of tasks that it runs at a time"),
            (
                "catalog.spec.secretRef.options",
                "Which key of the Secret holds the value of which catalog option.",
            ),
        ],
    )
    def test_explain_describes_fields(self, path: str, sentence: str, cluster: Cluster) -> None:
        assert sentence in " ".join(cluster.kubectl("explain", path).split())

    @each_kind
    def test_tables_have_the_declared_columns(self, definition: Definition, kept: Kubectl) -> None:
        body = made(definition.kind, f"columns-{definition.singular}", SPECS[definition.kind])
        kept("create", "-f", "-", stdin=json.dumps(body))
        narrow = kept("get", definition.kind.plural).splitlines()[0].split()
        wide = kept("get", definition.kind.plural, "-o", "wide").splitlines()[0].split()
        columns = definition.columns
        assert narrow == ["NAME", *(each.name.upper() for each in columns if not each.wide)]
        assert wide == ["NAME", *(each.name.upper() for each in columns)]

    def test_columns_of_a_run_tell_its_story(self, kept: Kubectl) -> None:
        kept("create", "-f", "-", stdin=json.dumps(made(COMPACTION, "story", RUN)))
        status = {
            "observedGeneration": 1,
            "conditions": [
                {
                    "type": "Succeeded",
                    "status": "True",
                    "reason": "Compacted",
                    "message": "done",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            "identifier": "sales.orders",
            "files": "412→9",
            "bytes": "6.1Gi→5.8Gi",
            "attempts": 1,
            "duration": "94s",
        }
        patch = json.dumps({"status": status})
        kept("patch", "compaction", "story", "--subresource=status", "--type=merge", "-p", patch)
        row = kept("get", "compaction", "story", "--no-headers").split()
        assert row[:-1] == [
            "story", "sales.orders", "Compact", "Minor", "Compacted", "412→9", "6.1Gi→5.8Gi", "1", "94s",
        ]  # fmt: skip
        kept("wait", "--for=condition=Succeeded", "--timeout=10s", "compaction/story")

    def test_columns_of_a_table_tell_its_story(self, kept: Kubectl) -> None:
        kept("create", "-f", "-", stdin=json.dumps(made(LAKE_TABLE, "health", TABLE)))
        since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "Loaded", **since},
                {"type": "CompactionNeeded", "status": "True", "reason": "SortedRuns", **since},
            ],
            "observation": {"files": 57, "smallFiles": 3, "snapshotId": "7"},
            "size": "6.1Gi",
            "debt": "410.2Mi",
            "health": "Healthy",
            "due": "",
        }
        patch = json.dumps({"status": status})
        kept("patch", "laketable", "health", "--subresource=status", "--type=merge", "-p", patch)
        row = kept("get", "laketable", "health", "--no-headers").split()
        story = ["health", "sales.orders", "True", "Healthy", "SortedRuns", "57", "3", "6.1Gi", "410.2Mi"]
        assert row[:-1] == story
        # The cells of levels are empty, and the catalog and the policy follow.
        wide = kept("get", "laketable", "health", "--no-headers", "-o", "wide").split()
        assert wide[-3:] == [TABLE["catalogRef"]["name"], "default", "7"]
        levels = {"status": {"observation": {"mergeTree": {"level0Files": 2, "sortedRuns": 4}}}}
        patch = json.dumps(levels)
        kept("patch", "laketable", "health", "--subresource=status", "--type=merge", "-p", patch)
        wide = kept("get", "laketable", "health", "--no-headers", "-o", "wide").split()
        assert wide[-3:] == ["7", "2", "4"]

    @pytest.mark.parametrize(
        ("kind", "spec", "other", "selector"),
        [
            (COMPACTION, {"tableRef": {"name": "sel"}}, RUN, "spec.tableRef.name=sel"),
            (COMPACTION, {**RUN, "strategy": "Full"}, RUN, "spec.strategy=Full"),
            (COMPACTION, {**RUN, "kind": "ExpireSnapshots"}, RUN, "spec.kind=ExpireSnapshots"),
            (LAKE_TABLE, {**TABLE, "identifier": "sel.t"}, TABLE, "spec.identifier=sel.t"),
            (LAKE_TABLE, {**TABLE, "catalogRef": {"name": "sel"}}, TABLE, "spec.catalogRef.name=sel"),
            (LAKE_TABLE, {**TABLE, "policyRef": {"name": "sel"}}, TABLE, "spec.policyRef.name=sel"),
            (LAKE_TABLE, {**TABLE, "suspend": True}, TABLE, "spec.suspend=true"),
            (POLICY, {"suspend": True}, {}, "spec.suspend=true"),
            (CATALOG, REST, {"warehouse": "/w"}, "spec.metastore=Rest"),
            (CATALOG, {"warehouse": "/w"}, None, "spec.format=Paimon"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_fields_can_be_selected(
        self,
        kind: ResourceKind,
        spec: dict[str, Any],
        other: dict[str, Any] | None,
        selector: str,
        kubectl: Kubectl,
    ) -> None:
        kubectl.apply(made(kind, "chosen", spec))
        if other is not None:
            kubectl.apply(made(kind, "other", other))
        found = kubectl("get", kind.plural, f"--field-selector={selector}", "-o", "name")
        assert found.split() == [f"{definition_name(kind)}/chosen"]


def definition_name(kind: ResourceKind) -> str:
    """A kind as `-o name` names it."""
    (found,) = (each for each in DEFINITIONS if each.kind == kind)
    return f"{found.singular}.lithify.dev"


def test_every_selectable_field_is_tried() -> None:
    mark = next(
        mark for mark in TestKubectl.test_fields_can_be_selected.pytestmark if mark.name == "parametrize"
    )
    tried = {(kind.name, "." + selector.split("=")[0]) for kind, _, _, selector in mark.args[1]}
    assert tried == {(each.kind.name, path) for each in DEFINITIONS for path in each.selectable}
