"""Objects are checked as an API server checks them; tests/cluster/resources asks one the same."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.errors import InvalidResource
from lithify.resources.crd import definition_of
from lithify.resources.modelling import plain, read
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ResourceKind
from lithify.resources.validating import validated
from support.rule_cases import CASES, RuleCase

RUN = {"tableRef": {"name": "orders"}}


def made(kind: ResourceKind, spec: object) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": "one", "annotations": {"by": "a test"}},
        "spec": spec,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_keeps_a_rule_passes(case: RuleCase) -> None:
    before = None if case.before is None else validated(case.kind, case.object(case.before))
    assert validated(case.kind, case.object(case.good, case.good_name), before)["kind"] == case.kind.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_keeps_a_rule_can_be_read(case: RuleCase) -> None:
    found = validated(case.kind, case.object(case.good, case.good_name))
    found["metadata"]["namespace"] = "default"
    spec = plain(read(definition_of(case.kind).model, found))["spec"]
    assert validated(case.kind, {**found, "spec": spec})["spec"] == spec


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_breaks_a_rule_is_told_which(case: RuleCase) -> None:
    before = None if case.before is None else validated(case.kind, case.object(case.before))
    with pytest.raises(InvalidResource) as caught:
        validated(case.kind, case.object(case.bad, case.bad_name), before)
    assert caught.value.problems == ((case.field, case.message),)


def test_defaults_are_filled_in_level_by_level() -> None:
    found = validated(POLICY, made(POLICY, {"spark": {"driver": {"cores": 2}}, "limits": None}))
    assert found["spec"]["spark"]["driver"] == {"cores": 2, "memory": "1Gi"}
    assert found["spec"]["spark"]["executor"]["maxInstances"] == 4
    assert found["spec"]["limits"] == {"activeRuns": 4}
    assert found["status"] == {"observedGeneration": -1}


def test_what_is_given_is_left_as_it_is() -> None:
    given = made(POLICY, {"priority": 7})
    found = validated(POLICY, given)
    assert given["spec"] == {"priority": 7}
    assert found["metadata"] == given["metadata"]
    assert found["spec"]["priority"] == 7


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        pytest.param(COMPACTION, {}, "spec", id="missing"),
        pytest.param(COMPACTION, RUN | {"stratgy": "Full"}, "spec.stratgy", id="unknown"),
        pytest.param(COMPACTION, RUN | {"strategy": "Major"}, "spec.strategy", id="not-in-list"),
        pytest.param(COMPACTION, RUN | {"suspend": "yes"}, "spec.suspend", id="wrong-type"),
        pytest.param(COMPACTION, RUN | {"buckets": [0, -1]}, "spec.buckets[1]", id="too-small"),
        pytest.param(
            COMPACTION, RUN | {"activeDeadlineSeconds": True}, "spec.activeDeadlineSeconds", id="bool"
        ),
        pytest.param(COMPACTION, RUN | {"cause": None}, "spec.cause", id="null-without-default"),
        pytest.param(COMPACTION, RUN | {"cause": "x" * 1025}, "spec.cause", id="too-long"),
        pytest.param(COMPACTION, [], "spec", id="not-an-object"),
        pytest.param(COMPACTION, None, "spec", id="null"),
        pytest.param(
            LAKE_TABLE,
            {"catalogRef": {"name": "a"}, "identifier": "db.t\n"},
            "spec.identifier",
            id="line-end",
        ),
        pytest.param(
            LAKE_TABLE,
            {"catalogRef": {"name": "a", "namespace": "b"}, "identifier": "db.t"},
            "spec.catalogRef.namespace",
            id="unknown-nested",
        ),
        pytest.param(
            POLICY,
            {"timeZone": "UTC", "windows": [{"start": "8:00", "end": "09:00"}]},
            "spec.windows[0].start",
            id="form",
        ),
        pytest.param(
            POLICY, {"spark": {"conf": {"spark.a": 1}}}, "spec.spark.conf['spark.a']", id="map-value"
        ),
        pytest.param(
            POLICY,
            {"spark": {"driver": {"podTemplate": {"spec": {"volumes": [{"emptydir": {}}]}}}}},
            "spec.spark.driver.podTemplate.spec.volumes[0].emptydir",
            id="unknown-in-a-pod-template",
        ),
        pytest.param(
            POLICY,
            {
                "spark": {
                    "executor": {
                        "podTemplate": {"spec": {"containers": [{"resources": {"limits": {"cpu": 0.5}}}]}}
                    }
                }
            },
            "spec.spark.executor.podTemplate.spec.containers[0].resources.limits.cpu",
            id="fraction-in-a-pod-template",
        ),
        pytest.param(
            CATALOG, {"warehouse": "/w", "discovery": {"include": []}}, "spec.discovery.include", id="empty"
        ),
    ],
)
def test_what_the_schema_refuses_is_named_by_its_field(kind: ResourceKind, spec: object, field: str) -> None:
    with pytest.raises(InvalidResource) as caught:
        validated(kind, made(kind, spec))
    assert caught.value.fields == (field,)
    assert (caught.value.kind, caught.value.name) == (kind.name, "one")


def test_what_another_release_stored_in_status_is_dropped() -> None:
    table = made(LAKE_TABLE, {"catalogRef": {"name": "a"}, "identifier": "db.t"})
    table["status"] = {
        "observedGeneration": 3,
        "weather": "fine",
        "observation": {"files": 7, "level0Files": 2, "mergeTree": {"level0Files": 2, "roots": {"a": [1]}}},
        "blockedBuckets": [{"bucket": "b", "reason": "CorruptFiles", "fingerprint": "f", "since": "today"}],
    }
    found = validated(LAKE_TABLE, table)
    assert found["status"] == {
        "observedGeneration": 3,
        "observation": {"files": 7, "mergeTree": {"level0Files": 2}},
        "blockedBuckets": [{"bucket": "b", "reason": "CorruptFiles", "fingerprint": "f"}],
    }
    assert "weather" in table["status"], "what is given is left as it is"


@pytest.mark.parametrize(
    ("status", "field"),
    [([1], "status"), ("fine", "status"), ({"observation": [1]}, "status.observation")],
    ids=["a list", "a text", "a list within"],
)
def test_a_status_of_another_type_is_refused_by_its_field(status: object, field: str) -> None:
    table = made(LAKE_TABLE, {"catalogRef": {"name": "a"}, "identifier": "db.t"}) | {"status": status}
    with pytest.raises(InvalidResource) as caught:
        validated(LAKE_TABLE, table)
    assert caught.value.fields == (field,)


def test_pod_templates_are_left_as_they_are() -> None:
    limits = {"cpu": 1, "memory": "64Mi"}
    sidecar = {"name": "proxy", "resources": {"limits": limits}}
    template = {"spec": {"tolerations": [{"operator": "Exists"}], "containers": [{}, sidecar]}}
    found = validated(POLICY, made(POLICY, {"spark": {"driver": {"podTemplate": template}}}))
    assert found["spec"]["spark"]["driver"]["podTemplate"] == template
