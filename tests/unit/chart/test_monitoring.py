"""Alerts and dashboard ask for series and labels that there are; Argo CD shows what is so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infrastructure.chart.judging import ask
from infrastructure.chart.queries import OF_SCRAPES, dashboard, queries, rules
from infrastructure.chart.rendering import CHART, NAMESPACE, Rendered
from lithify.controller.deciding.problems import TableReason
from lithify.controller.telemetry.series import SECTIONS, TABLE_LABELS, TABLE_SERIES, Shape
from lithify.resources.compaction import Reason
from lithify.resources.objects import ConditionStatus
from lithify.resources.table import TableHealth

pytestmark = pytest.mark.thorough

Render = Callable[[str], Rendered]
ROOT = CHART.parents[1]
OF_THE_PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
_VALUES = re.compile(r'\b(\w+)(=~|!~|=|!=)"([^"]*)"')


def known() -> dict[str, set[str]]:
    """Labels of every series by its name, with those that a scrape adds."""
    found = {name: set(OF_SCRAPES) for name in OF_THE_PROCESS}
    for series in (one for section in SECTIONS.values() for one in section):
        labels = {*series.labels, *OF_SCRAPES}
        if series.shape is Shape.HISTOGRAM:
            found[f"{series.name}_bucket"] = labels | {"le"}
            found |= {f"{series.name}_{end}": labels for end in ("sum", "count")}
        else:
            found[series.name] = labels
    return found


def test_queries_are_about_series_and_labels_that_there_are() -> None:
    asked, there = dict(enumerate(queries())), known()
    answers = ask([{"query": query} for _, query in asked.values()])
    wrong = []
    for (place, query), answer in zip(asked.values(), answers, strict=True):
        problems = [answer["problem"]] if "problem" in answer else []
        assert answer.get("series"), f"{place} asks for nothing: {query}"
        for name, labels in answer["series"].items():
            problems += [f"no series {name}"] if name not in there else []
            problems += [f"{name} has no label {label}" for label in {*labels} - there.get(name, {*labels})]
        labels = set().union(*(there.get(name, set()) for name in answer["series"]))
        problems += [f"nothing has a label {label}" for label in {*answer.get("labels", ())} - labels]
        wrong += [f"{place}: {problem}" for problem in problems]
    assert wrong == []


def test_a_wrong_query_is_noticed() -> None:
    wrong, unknown = ask([{"query": "sum(("}, {"query": 'lithify_nothing{thing="a"}'}])
    assert wrong["problem"]
    assert unknown["series"] == {"lithify_nothing": ["thing"]}


def test_reasons_and_stages_that_queries_name_are_some() -> None:
    reasons = {*TableReason, *Reason}
    for place, query in queries():
        for label, _, value in _VALUES.findall(query):
            if label in {"reason", "stage"}:
                assert {*value.split("|")} <= reasons, place
            if label == "health":
                assert {*value.split("|")} <= {*TableHealth}, place


def test_alerts_are_of_this_release_alone() -> None:
    for rule in rules():
        selectors = rule["expr"].count("lithify_")
        assert rule["expr"].count(f'namespace="{NAMESPACE}",job="lithify-operator"') == selectors
        assert "OPERATOR" not in rule["expr"]
        assert "STALE" not in rule["expr"]


def test_every_alert_has_a_heading_that_says_what_to_do() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    headings = {line.removeprefix("### ").strip() for line in text.splitlines() if line.startswith("### ")}
    alerts = {rule["alert"] for rule in rules()}
    assert alerts <= headings
    assert {heading for heading in headings if heading.startswith("Lithify")} == alerts
    for rule in rules():
        assert rule["annotations"]["runbook_url"].endswith(
            f"/docs/troubleshooting.md#{rule['alert'].lower()}"
        )


def test_texts_of_alerts_use_labels_that_their_results_have() -> None:
    found = rules()
    answers = ask([{"query": rule["expr"]} for rule in found])
    for rule, answer in zip(found, answers, strict=True):
        named = {*re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))}
        assert named <= {*answer.get("labels", ())}, rule["alert"]


def test_alerts_can_be_left_out_and_labelled(rendered: Render) -> None:
    (group,) = rendered("everything").one("PrometheusRule")["spec"]["groups"]
    assert "LithifyApiErrors" not in {rule["alert"] for rule in group["rules"]}
    assert len(group["rules"]) == len(rules()) / 2 - 1
    assert all(rule["labels"].items() >= {"team": "data"}.items() for rule in group["rules"])


def test_the_monitor_finds_the_service(rendered: Render) -> None:
    found = rendered("everything")
    monitor, service = found.one("ServiceMonitor")["spec"], found.one("Service")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {one["port"] for one in monitor["endpoints"]} <= {one["name"] for one in service["spec"]["ports"]}
    # Alerts know the release by this name.
    assert service["metadata"]["name"] == found.one("Deployment")["metadata"]["name"]


def test_the_worst_tables_are_named_where_each_has_series() -> None:
    (panel,) = [one for one in dashboard()["panels"] if one["title"] == "Worst tables"]
    shown = {series for target in panel["targets"] for series in re.findall(r"lithify_\w+", target["expr"])}
    assert shown <= {one.name for one in TABLE_SERIES.values()}
    renamed = panel["transformations"][-1]["options"]["renameByName"]
    assert {*TABLE_LABELS} <= renamed.keys()
    assert {f"Value #{target['refId']}" for target in panel["targets"]} <= renamed.keys()
    assert all(target["instant"] and target["format"] == "table" for target in panel["targets"])


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


SCRIPT = (CHART / "files" / "argocd-health.lua").read_text(encoding="utf-8")


def thing(kind: str, conditions: dict[str, tuple[str, str]], **changes: Any) -> dict[str, Any]:
    said = [
        {"type": name, "status": status, "reason": reason, "message": f"{name} says {reason}"}
        for name, (status, reason) in conditions.items()
    ]
    status = {"observedGeneration": changes.get("observed", 2), "conditions": said}
    metadata = {"name": "a", "generation": 2, **changes.get("metadata", {})}
    return {"kind": kind, "metadata": metadata, "status": status}


READY, UNREADY = {"Ready": ("True", "Ready")}, {"Ready": ("False", "StorageUnavailable")}
THINGS = {
    "a table that is ready": (thing("LakeTable", READY), "Healthy"),
    "a catalog that is ready": (thing("Catalog", READY), "Healthy"),
    "a policy that is ready": (thing("CompactionPolicy", READY), "Healthy"),
    "one that was not looked at": ({**thing("LakeTable", {}), "status": None}, "Progressing"),
    "one of another spec": (thing("LakeTable", READY, observed=1), "Progressing"),
    "one that never was looked at": (thing("LakeTable", {}, observed=-1), "Progressing"),
    "one that is deleted": (
        thing("LakeTable", READY, metadata={"deletionTimestamp": "2026-05-04T11:00:00Z"}),
        "Progressing",
    ),
    "one on its way": (thing("LakeTable", {"Reconciling": ("True", "Progressing")}), "Progressing"),
    "one that is tried again": (thing("LakeTable", UNREADY), "Progressing"),
    "one that waits for a person": (
        thing("LakeTable", {"Ready": ("False", "TableNotFound"), "Stalled": ("True", "TableNotFound")}),
        "Degraded",
    ),
}


@pytest.mark.parametrize(("found", "expected"), THINGS.values(), ids=THINGS)
def test_argo_cd_shows_the_health_of(found: dict[str, Any], expected: str) -> None:
    (answer,) = ask([{"script": SCRIPT, "object": found}])
    assert answer["health"]["status"] == expected


def test_argo_cd_shows_every_status_of_a_compaction() -> None:
    held = {Reason.SUSPENDED, Reason.AWAITING_APPROVAL}
    things = []
    for reason in Reason:
        conditions = {"Succeeded": (reason.status.value, reason.value)}
        if not reason.is_final:
            conditions["Reconciling"] = ("True", reason.value)
        elif reason.status is ConditionStatus.FALSE:
            conditions["Stalled"] = ("True", reason.value)
        things.append({"script": SCRIPT, "object": thing("Compaction", conditions)})
    shown = dict(zip(Reason, (answer["health"]["status"] for answer in ask(things)), strict=True))
    ends = {ConditionStatus.TRUE: "Healthy", ConditionStatus.FALSE: "Degraded"}
    assert shown == {
        reason: "Suspended" if reason in held else ends.get(reason.status, "Progressing") for reason in Reason
    }


def test_argo_cd_gets_the_script_for_each_kind(rendered: Render) -> None:
    scripts = rendered("everything").one("ConfigMap", "compaction-argocd-health")["data"]
    assert {text.strip() for text in scripts.values()} == {SCRIPT.strip()}
    assert len(scripts) == 4
    assert not (Path(CHART) / "files" / "argocd-health.yaml").exists()
