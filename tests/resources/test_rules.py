"""What a real API server makes of our definitions: rules, bounds, defaults, and what `kubectl` shows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.fixtures import Cluster
from cluster.kubectl import Kubectl, KubectlFailed
from lithify.resources.crd import DEFINITIONS, Definition
from lithify.resources.modelling import plain, read
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, Kind
from lithify.resources.validating import validated
from support.rule_cases import CASES, REST, RICH_RUN, RUN, TABLE, RuleCase

pytestmark = pytest.mark.cluster
each_kind = pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.kind.name)
FULL_POLICY: dict[str, Any] = {
    "timeZone": "Europe/Berlin",
    "triggers": {"primaryKey": {"sortedRuns": 5, "totalSizeBelow": "64Mi"}},
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
SPECS: dict[Kind, dict[str, Any]] = {
    CATALOG: {**REST, "discovery": {"include": ["sales.*"], "exclude": ["*.tmp_*"]}},
    LAKE_TABLE: {**TABLE, "tableOptions": {"target-file-size": "1g"}, "timeZone": "UTC"},
    POLICY: FULL_POLICY,
    COMPACTION: dict(RICH_RUN),
}
"""An object of each kind that sets much."""


def made(kind: Kind, name: str, spec: object) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Kubectl]:
    """kubectl in a namespace that the tests of this module share: they take names of their own."""
    name = f"rules-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield cluster.kubectl.within(name)
    cluster.kubectl("delete", "namespace", name, "--wait=false")


def refusal(server: Kubectl, body: dict[str, Any], *, new: bool) -> str:
    """What the API server says against an object."""
    with pytest.raises(KubectlFailed) as caught:
        server("create" if new else "replace", "--dry-run=server", "-f", "-", stdin=json.dumps(body))
    return caught.value.stderr


class TestRules:
    """Every rule, by an object that keeps it and one that breaks nothing but it."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
    def test_a_rule_tells_good_from_bad(self, case: RuleCase, server: Kubectl) -> None:
        if case.before is not None:
            server("create", "-f", "-", stdin=json.dumps(case.object(case.before)))
        self._passes(server, case)
        said = refusal(server, case.object(case.bad, case.bad_name), new=case.before is None)
        assert f"{case.field}: Invalid value" in said
        assert case.message in said
        assert said.count("Invalid value") == 1

    def _passes(self, server: Kubectl, case: RuleCase) -> None:
        action = "create" if case.before is None else "replace"
        good = case.object(case.good, case.good_name)
        server(action, "--dry-run=server", "-f", "-", stdin=json.dumps(good))


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
                {"spark": {"executor": {"memory": "1.5Gi"}}},
                "spec.spark.executor.memory: Invalid value",
                id="fraction-of-a-byte",
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
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, kind: Kind, spec: dict[str, Any], field: str, server: Kubectl
    ) -> None:
        body = made(kind, "unfit", spec)
        assert field in refusal(server, body, new=True)

    @each_kind
    def test_defaults_are_those_of_our_own_check(self, definition: Definition, server: Kubectl) -> None:
        body = made(definition.kind, f"defaults-{definition.singular}", SPECS[definition.kind])
        server("create", "-f", "-", stdin=json.dumps(body))
        found = server.get(definition.kind.plural, body["metadata"]["name"])
        expected = validated(definition.kind, body)
        assert found["spec"] == expected["spec"]
        assert found["status"] == expected["status"] == {"observedGeneration": -1}

    def test_nothing_but_required_fields_is_enough(self, server: Kubectl) -> None:
        created = json.loads(
            server("create", "-o", "json", "-f", "-", stdin=json.dumps(made(POLICY, "empty", {})))
        )
        spec = created["spec"]
        assert (spec["checkIntervalSeconds"], spec["limits"]) == (60, {"activeRuns": 4})
        assert spec["spark"]["executor"] == {
            "minInstances": 1,
            "maxInstances": 4,
            "cores": 1,
            "memory": "2Gi",
        }

    @each_kind
    def test_objects_survive_our_models(self, definition: Definition, server: Kubectl) -> None:
        body = made(definition.kind, f"models-{definition.singular}", SPECS[definition.kind])
        server("create", "-f", "-", stdin=json.dumps(body))
        found = server.get(definition.kind.plural, body["metadata"]["name"])
        model = read(definition.model, found)
        again = made(definition.kind, body["metadata"]["name"], plain(model)["spec"])
        server("replace", "-f", "-", stdin=json.dumps(again))
        replaced = server.get(definition.kind.plural, body["metadata"]["name"])
        assert read(definition.model, replaced).spec == model.spec

    def test_status_is_written_apart_from_the_spec(self, server: Kubectl) -> None:
        server("create", "-f", "-", stdin=json.dumps(made(LAKE_TABLE, "apart", TABLE)))
        patch = {"spec": {"suspend": True}, "status": {"observedGeneration": 1, "runs": 3}}
        server("patch", "laketable", "apart", "--subresource=status", "--type=merge", "-p", json.dumps(patch))
        found = server.get("laketable", "apart")
        assert found["status"] == {"observedGeneration": 1, "runs": 3}
        assert found["spec"]["suspend"] is False
        assert found["metadata"]["generation"] == 1


class TestKubectl:
    """What people see."""

    @each_kind
    def test_short_names(self, definition: Definition, server: Kubectl) -> None:
        for name in definition.short_names:
            assert server("get", name, "-o", "name") == server("get", definition.kind.plural, "-o", "name")

    def test_the_category_is_all_of_them(self, cluster: Cluster) -> None:
        listed = cluster.kubectl("api-resources", "--categories=lakehouse", "-o", "name").split()
        assert sorted(listed) == sorted(f"{each.kind.plural}.lithify.dev" for each in DEFINITIONS)

    @each_kind
    def test_explain_teaches(self, definition: Definition, cluster: Cluster) -> None:
        text = " ".join(cluster.kubectl("explain", definition.kind.plural, "--recursive=false").split())
        assert " ".join(definition.model.__doc__.split()) in text

    @pytest.mark.parametrize(
        ("path", "sentence"),
        [
            ("compaction.spec.approval", "Manual: waits, planned, for `approved: true`."),
            ("laketable.status.observation.level0Files", "Files that no compaction has sorted in yet."),
            ("compactionpolicy.spec.spark.executor.cores", "so many tasks at a time"),
            (
                "catalog.spec.secretRef.options",
                "Which key of the Secret holds the value of which catalog option.",
            ),
        ],
    )
    def test_explain_describes_fields(self, path: str, sentence: str, cluster: Cluster) -> None:
        assert sentence in " ".join(cluster.kubectl("explain", path).split())

    @each_kind
    def test_columns(self, definition: Definition, server: Kubectl) -> None:
        body = made(definition.kind, f"columns-{definition.singular}", SPECS[definition.kind])
        server("create", "-f", "-", stdin=json.dumps(body))
        narrow = server("get", definition.kind.plural).splitlines()[0].split()
        wide = server("get", definition.kind.plural, "-o", "wide").splitlines()[0].split()
        columns = definition.columns
        assert narrow == ["NAME", *(each.name.upper() for each in columns if not each.wide)]
        assert wide == ["NAME", *(each.name.upper() for each in columns)]

    def test_columns_of_a_run_tell_its_story(self, server: Kubectl) -> None:
        server("create", "-f", "-", stdin=json.dumps(made(COMPACTION, "story", RUN)))
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
        server("patch", "compaction", "story", "--subresource=status", "--type=merge", "-p", patch)
        row = server("get", "compaction", "story", "--no-headers").split()
        assert row[:-1] == [
            "story", "sales.orders", "Minor", "Compacted", "412→9", "6.1Gi→5.8Gi", "1", "94s",
        ]  # fmt: skip
        server("wait", "--for=condition=Succeeded", "--timeout=10s", "compaction/story")

    def test_columns_of_a_table_tell_its_story(self, server: Kubectl) -> None:
        server("create", "-f", "-", stdin=json.dumps(made(LAKE_TABLE, "health", TABLE)))
        since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "Loaded", **since},
                {"type": "CompactionNeeded", "status": "True", "reason": "SortedRuns", **since},
            ],
            "observation": {"files": 57, "smallFiles": 3, "level0Files": 2, "sortedRuns": 4},
        }
        patch = json.dumps({"status": status})
        server("patch", "laketable", "health", "--subresource=status", "--type=merge", "-p", patch)
        row = server("get", "laketable", "health", "--no-headers").split()
        assert row[:-1] == ["health", "sales.orders", "True", "SortedRuns", "57", "3", "2", "4"]

    @pytest.mark.parametrize(
        ("kind", "spec", "other", "selector"),
        [
            (COMPACTION, {"tableRef": {"name": "sel"}}, RUN, "spec.tableRef.name=sel"),
            (COMPACTION, {**RUN, "strategy": "Full"}, RUN, "spec.strategy=Full"),
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
        kind: Kind,
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


def definition_name(kind: Kind) -> str:
    """A kind as `-o name` names it."""
    (found,) = (each for each in DEFINITIONS if each.kind == kind)
    return f"{found.singular}.lithify.dev"


def test_every_selectable_field_is_tried() -> None:
    mark = next(
        mark for mark in TestKubectl.test_fields_can_be_selected.pytestmark if mark.name == "parametrize"
    )
    tried = {(kind.name, "." + selector.split("=")[0]) for kind, _, _, selector in mark.args[1]}
    assert tried == {(each.kind.name, path) for each in DEFINITIONS for path in each.selectable}
