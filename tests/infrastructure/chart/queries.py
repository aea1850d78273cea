"""All queries of the chart: those of its alerts, and those of its dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from infrastructure.chart.rendering import CHART, render

OF_SCRAPES = {"namespace", "job", "pod"}
"""Labels that a scrape adds to every series."""


def rules() -> list[dict[str, Any]]:
    """All alerts, as they are without series of each table and with them."""
    found: list[dict[str, Any]] = []
    for per_table in (False, True):
        values = {"metrics": {"prometheusRule": {"enabled": True}, "perTable": per_table}}
        (group,) = render(values).one("PrometheusRule")["spec"]["groups"]
        found += group["rules"]
    return found


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHART / "dashboards" / "lithify.json").read_text(encoding="utf-8"))
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Where each query stands, and the query."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")
