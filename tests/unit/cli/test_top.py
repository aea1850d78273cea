"""`lithify top` adds up what LakeTables say of their usage: by namespace, policy or table."""

from __future__ import annotations

import json

import pytest

from lithify.cli.render_top import Payer, report_of, usage_dict, usage_view
from lithify.resources.modelling import read
from lithify.resources.table import LakeTable
from support.cases import case
from unit.cli.screen import text_of


def table(namespace: str, name: str, policy: str, seconds: float) -> LakeTable:
    """A LakeTable that has taken some processor time, and read a MiB for each run."""
    spec = {"catalogRef": {"name": "lake"}, "policyRef": {"name": policy}, "identifier": f"db.{name}"}
    usage = {"runs": 2, "coreSeconds": seconds, "inputBytes": 2 << 20, "outputBytes": 1 << 20}
    metadata = {"name": name, "namespace": namespace, "uid": name}
    return read(LakeTable, {"metadata": metadata, "spec": spec, "status": {"usage": usage}})


TABLES = (
    table("sales", "orders", "fast", 0.25),
    table("sales", "items", "slow", 0.125),
    table("sales", "users", "fast", 0.5),
    table("crm", "calls", "fast", 0.625),
)


@pytest.mark.parametrize(
    ("payer", "expected"),
    [
        case(Payer.NAMESPACE, [("sales", "", "", 0.875), ("crm", "", "", 0.625)], id="namespaces"),
        case(
            Payer.POLICY,
            [("sales", "fast", "", 0.75), ("crm", "fast", "", 0.625), ("sales", "slow", "", 0.125)],
            id="policies, which are those of their namespace",
        ),
        case(
            Payer.TABLE,
            [
                ("crm", "fast", "calls", 0.625),
                ("sales", "fast", "users", 0.5),
                ("sales", "fast", "orders", 0.25),
                ("sales", "slow", "items", 0.125),
            ],
            id="tables",
        ),
    ],
)
def test_usage_is_added_up_and_the_most_expensive_comes_first(
    payer: Payer, expected: list[tuple[str, str, str, float]]
) -> None:
    report = report_of(TABLES, payer)
    found = [(one.namespace, one.policy, one.table, one.core_seconds) for one in report.usages]
    assert found == expected
    total = report.total
    assert (total.tables, total.runs, total.core_seconds, total.input_bytes) == (4, 8, 1.5, 8 << 20)


def test_fractions_of_seconds_are_shown_and_the_total_is_the_last_line() -> None:
    lines = text_of(usage_view(report_of(TABLES, Payer.POLICY, unreadable=1))).splitlines()
    assert lines[0].split() == ["NAMESPACE", "POLICY", "TABLES", "RUNS", "CORE-SECONDS", "READ", "WRITTEN"]
    assert lines[1].split()[:5] == ["sales", "fast", "2", "4", "0.8"]
    assert lines[4].split()[:3] == ["total", "8", "1.5"]
    assert "1 LakeTable" in lines[5]


def test_json_has_all_figures() -> None:
    found = json.loads(json.dumps(usage_dict(report_of(TABLES[:1], Payer.TABLE))))
    assert (found["by"], found["unreadable"]) == ("table", 0)
    assert found["usages"] == [
        {
            "namespace": "sales",
            "policy": "fast",
            "table": "orders",
            "tables": 1,
            "runs": 2,
            "core_seconds": 0.25,
            "input_bytes": 2 << 20,
            "output_bytes": 1 << 20,
        }
    ]


def test_without_tables_there_is_a_sentence() -> None:
    assert "no LakeTables" in text_of(usage_view(report_of((), Payer.TABLE)))
