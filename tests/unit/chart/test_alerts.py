"""Each alert fires when it should, and not before, over invented histories and by Prometheus's own engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from infrastructure.chart.judging import Span, Values, evaluate
from infrastructure.chart.rendering import NAMESPACE, render

BEGIN = 1_800_000_000.0
MINUTE, HOUR = 60.0, 3600.0
DAY = 24 * HOUR
SCRAPED = {"namespace": NAMESPACE, "job": "lithify-operator", "pod": "lithify-operator-0"}
ORDERS = {"table_namespace": "lake", "table": "orders", "identifier": "sales.orders"}
_UNITS = {"m": MINUTE, "h": HOUR}

Curve = Callable[[float], float]
"""A value by the seconds since `BEGIN`; NaN where nothing is shown."""


def rules(**metrics: Any) -> dict[str, dict[str, Any]]:
    """The rendered alerts by name."""
    rendered = render(
        {"metrics": {"prometheusRule": {"enabled": True, **metrics.pop("rule", {})}, **metrics}}
    )
    (group,) = rendered.one("PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


PLAIN, PER_TABLE = rules(), rules(perTable=True)


def constant(value: float) -> Curve:
    return lambda _: value


def growing(an_hour: float) -> Curve:
    """A counter."""
    return lambda seconds: an_hour * seconds / HOUR


def series(name: str, curve: Curve, seconds: float, **labels: str) -> Values:
    """What was scraped each minute."""
    times = [each * MINUTE for each in range(int(seconds / MINUTE) + 1)]
    points = [(BEGIN + time, curve(time)) for time in times]
    return Values(
        {"__name__": name, **SCRAPED, **labels}, [(t, value) for t, value in points if value == value]
    )


def lasting(rule: Mapping[str, Any]) -> float:
    """The seconds after which it fires."""
    number, unit = re.fullmatch(r"(\d+)([mh])", rule["for"]).groups()  # type: ignore[union-attr]
    return float(number) * _UNITS[unit]


def fires(rule: Mapping[str, Any], history: list[Values]) -> bool:
    """Whether it fires at the end of a history: a result has been there for as long as it has to last."""
    end = max(point[0] for one in history for point in one.points)
    (found,) = evaluate(history, [rule["expr"]], Span(end - lasting(rule), end, MINUTE))
    checks = lasting(rule) / MINUTE + 1
    return any(len(one.points) == checks for one in found)


def shown(name: str, *curves: tuple[float | Curve, Mapping[str, str]], days: float = 0.125) -> list[Values]:
    """A history of one name: a value or curve and labels each."""
    return [
        series(name, curve if callable(curve) else constant(curve), days * DAY, **labels)
        for curve, labels in curves
    ]


def gauge(name: str, value: float | Curve, *, days: float = 0.125, **labels: str) -> list[Values]:
    return shown(name, (value, labels), days=days)


def rate(name: str, an_hour: float, *, days: float = 0.125, **labels: str) -> list[Values]:
    return shown(name, (growing(an_hour), labels), days=days)


HEALTH = "lithify_tables_by_health"
STAGES = "lithify_active_compactions"
LOOKS, REQUESTS = "lithify_observations_total", "lithify_api_requests_total"
ENDED, ATTEMPTS = "lithify_compactions_finished_total", "lithify_compaction_attempts_total"
DEBT, DUE = "lithify_debt_bytes", "lithify_due_tables"
AMPLIFICATION = "lithify_max_size_amplification_ratio"
START = "lithify_oldest_run_start_timestamp_seconds"


def running(seconds: float, name: str = START, **labels: str) -> list[Values]:
    """A run that at the end of the history has been at work so long."""
    return gauge(name, BEGIN + 0.125 * DAY - seconds, **labels)


def troubled(word: str) -> list[Values]:
    """A Catalog with this HEALTH."""
    return gauge("lithify_troubled_catalogs", 1, catalog_namespace="sales", catalog="lake", health=word)


HELD_BACK = [
    *gauge("lithify_waiting_compactions", 1, days=0.2),
    *gauge(STAGES, 0, days=0.2, stage="Queued"),
]
"""A table that is due, and has no Compaction yet."""

HISTORIES: dict[str, tuple[list[Values], list[Values]]] = {
    "LithifyOperatorDown": (gauge("lithify_leader", 0), gauge("lithify_leader", 1)),
    "LithifySeveralLeaders": (
        shown("lithify_leader", (1, {}), (1, {"pod": "other"})),
        shown("lithify_leader", (1, {}), (0, {"pod": "other"})),
    ),
    "LithifyForbidden": (
        rate(REQUESTS, 60, verb="GET", kind="Secret", code="403"),
        rate(REQUESTS, 60, verb="GET", kind="Secret", code="404"),
    ),
    "LithifyApiErrors": (
        [*rate(REQUESTS, 60, code="500"), *rate(REQUESTS, 500, code="200")],
        [*rate(REQUESTS, 60, code="500"), *rate(REQUESTS, 600, code="200")],
    ),
    "LithifyReconcilesLate": (
        gauge("lithify_queue_oldest_age_seconds", 301),
        gauge("lithify_queue_oldest_age_seconds", 300),
    ),
    "LithifyEventLoopLate": (
        gauge("lithify_event_loop_lag_seconds", 4),
        gauge("lithify_event_loop_lag_seconds", 3),
    ),
    "LithifyTablesNotReady": (
        gauge("lithify_tables", 1, reason="CorruptTable"),
        shown(
            "lithify_tables",
            (9, {"reason": "Ready"}),
            (1, {"reason": "AccessDenied"}),
            (1, {"reason": "NeverObserved"}),
            (1, {"reason": "CompactionsFailing"}),
        ),
    ),
    "LithifyCatalogDown": (troubled("CatalogDown"), troubled("AccessDenied")),
    "LithifyCredentialsRefused": (troubled("AccessDenied"), troubled("CatalogDown")),
    "LithifyWarehouseNotFound": (troubled("WarehouseNotFound"), troubled("NotAllowed")),
    "LithifyCatalogNotAllowed": (troubled("NotAllowed"), troubled("WarehouseNotFound")),
    "LithifyTablesFailing": (
        gauge(HEALTH, 1, health="Failing"),
        shown(HEALTH, (0, {"health": "Failing"}), (9, {"health": "Blocked"})),
    ),
    "LithifyBucketsBlocked": (gauge("lithify_blocked_buckets", 1), gauge("lithify_blocked_buckets", 0)),
    "LithifyLevel0FilesMany": (gauge("lithify_max_level0_files", 21), gauge("lithify_max_level0_files", 20)),
    "LithifySizeAmplificationHigh": (
        gauge(AMPLIFICATION, 3.1, tables="large"),
        shown(AMPLIFICATION, (3, {"tables": "large"}), (9, {"tables": "all"})),
    ),
    "LithifyObservationsOld": (
        gauge("lithify_oldest_observation_age_seconds", 7201),
        gauge("lithify_oldest_observation_age_seconds", 7200),
    ),
    "LithifyObservationsFailing": (
        [*rate(LOOKS, 51, result="timed-out"), *rate(LOOKS, 50, result="changed")],
        [*rate(LOOKS, 49, result="failed"), *rate(LOOKS, 50, result="unchanged")],
    ),
    "LithifyCompactionsFailing": (
        rate(ENDED, 5, strategy="Full", reason="OutOfMemory"),
        [*rate(ENDED, 99, strategy="Full", reason="Compacted"), *rate(ENDED, 2, reason="DriverLost")],
    ),
    "LithifyOutOfMemory": (
        rate(ATTEMPTS, 1, days=0.5, outcome="out-of-memory"),
        rate(ATTEMPTS, 9, days=0.5, outcome="conflict"),
    ),
    "LithifyDriversNotStarting": (
        shown(STAGES, (1, {"stage": "Submitting"}), (0, {"stage": "Running"})),
        shown(STAGES, (1, {"stage": "Submitting"}), (1, {"stage": "Running"})),
    ),
    "LithifyRunLong": (running(16 * MINUTE + 1), running(15 * MINUTE)),
    "LithifyQueueLong": (
        gauge("lithify_waiting_compactions", 11),
        gauge("lithify_waiting_compactions", 10),
    ),
    "LithifyQueueStuck": (
        [*HELD_BACK, *gauge(ENDED, 5, days=0.2)],
        [*HELD_BACK, *rate(ENDED, 1, days=0.2)],
    ),
    "LithifyTableDebtGrowing": (
        [*gauge(DEBT, lambda seconds: 1e9 * 1.3 ** (seconds / DAY), days=1.6), *gauge(DUE, 1, days=1.6)],
        [*gauge(DEBT, lambda seconds: 1e9 * 1.1 ** (seconds / DAY), days=1.6), *gauge(DUE, 1, days=1.6)],
    ),
}
"""For each alert a history after which it fires, and one after which it does not."""


@pytest.mark.parametrize("alert", HISTORIES)
def test_alert_fires_when_it_should_and_not_before(alert: str) -> None:
    wrong, right = HISTORIES[alert]
    assert fires(PLAIN[alert], wrong)
    assert not fires(PLAIN[alert], right)


def test_each_alert_has_histories() -> None:
    assert HISTORIES.keys() == PLAIN.keys() == PER_TABLE.keys()


LARGE = gauge("lithify_table_bytes", 2**30, **ORDERS)
OF_TABLES: dict[str, tuple[list[Values], list[Values]]] = {
    "LithifyTablesFailing": (
        gauge("lithify_table_consecutive_failures", 1, **ORDERS),
        gauge("lithify_table_consecutive_failures", 0, **ORDERS),
    ),
    "LithifyBucketsBlocked": (
        gauge("lithify_table_blocked_buckets", 1, **ORDERS),
        gauge("lithify_table_blocked_buckets", 0, **ORDERS),
    ),
    "LithifyLevel0FilesMany": (
        gauge("lithify_table_max_level0_files", 21, **ORDERS),
        gauge("lithify_table_max_level0_files", 20, **ORDERS),
    ),
    "LithifySizeAmplificationHigh": (
        [*gauge("lithify_table_size_amplification_ratio", 3.1, **ORDERS), *LARGE],
        [
            *gauge("lithify_table_size_amplification_ratio", 3.1, **ORDERS),
            *gauge("lithify_table_bytes", 2**30 - 1, **ORDERS),
        ],
    ),
    "LithifyRunLong": (
        running(16 * MINUTE + 1, "lithify_table_run_start_timestamp_seconds", **ORDERS),
        running(15 * MINUTE, "lithify_table_run_start_timestamp_seconds", **ORDERS),
    ),
}


def test_alerts_that_name_a_table_are_tried() -> None:
    changed = {alert for alert, rule in PLAIN.items() if rule["expr"] != PER_TABLE[alert]["expr"]}
    assert changed == OF_TABLES.keys()


@pytest.mark.parametrize("alert", OF_TABLES)
def test_alert_names_the_table_where_each_has_series(alert: str) -> None:
    wrong, right = OF_TABLES[alert]
    rule = PER_TABLE[alert]
    assert fires(rule, wrong)
    assert not fires(rule, right)
    assert "$labels.identifier" in rule["annotations"]["summary"]
    end = BEGIN + 0.125 * DAY
    ((found,),) = evaluate(wrong, [rule["expr"]], Span(end, end, MINUTE))
    assert found.labels.items() >= ORDERS.items()


def test_no_alert_fires_of_another_release() -> None:
    for alert, (wrong, _) in HISTORIES.items():
        other = [Values({**one.labels, "namespace": "other"}, one.points) for one in wrong]
        assert fires(PLAIN[alert], other) is (alert == "LithifyOperatorDown"), alert


def test_thresholds_are_values() -> None:
    changed = rules(rule={"thresholds": {"level0Files": 50, "runSeconds": 10**7, "sizeAmplification": 2.5}})
    level0 = "lithify_max_level0_files"
    assert not fires(changed["LithifyLevel0FilesMany"], gauge(level0, 50))
    assert fires(changed["LithifyLevel0FilesMany"], gauge(level0, 51))
    assert not fires(changed["LithifyRunLong"], running(HOUR))
    assert fires(changed["LithifyRunLong"], running(1.1e7))
    assert fires(changed["LithifySizeAmplificationHigh"], gauge(AMPLIFICATION, 2.6, tables="large"))
    assert not any("THRESHOLD" in rule["expr"] for rule in (*PLAIN.values(), *PER_TABLE.values()))


def test_expired_keys_are_an_alert_within_minutes_that_names_the_catalog() -> None:
    rule = PLAIN["LithifyCredentialsRefused"]
    assert lasting(rule) <= 3 * MINUTE
    (found,) = evaluate(troubled("AccessDenied"), [rule["expr"]], Span(BEGIN + HOUR, BEGIN + HOUR, MINUTE))
    assert [one.labels for one in found] == [
        {"catalog_namespace": "sales", "catalog": "lake", "health": "AccessDenied"}
    ]
