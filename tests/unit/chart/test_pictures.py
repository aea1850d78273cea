"""The pictures of docs/ show what is there now, and drawings show what queries come to."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from infrastructure.chart.judging import Span, Values
from infrastructure.pictures import dashboard, terminal
from infrastructure.pictures.scraping import TARGET
from infrastructure.pictures.units import shown
from lithify.resources.crd import DEFINITIONS

DOCS = Path(__file__).parents[3] / "docs"
BEGIN = 1_800_000_000.0
SPAN = Span(BEGIN, BEGIN + 120, 30)


def words(svg: str) -> list[str]:
    """The texts of a picture."""
    return [part.text or "" for part in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def saved(name: str) -> list[str]:
    return words((DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8"))


def scraped(name: str, value: float, **labels: str) -> Values:
    points = [(BEGIN + seconds, value) for seconds in range(0, 150, 30)]
    return Values({"__name__": name, **TARGET, **labels}, points)


def drawn(*history: Values) -> list[str]:
    return words(dashboard.draw(history, SPAN, {**TARGET, "__rate_interval": "1m"}, "a caption"))


def test_the_dashboards_picture_has_every_panel_and_says_who_drew_it() -> None:
    found = saved("dashboard")
    titles = [panel["title"] for panel in dashboard.panels()]
    assert [title for title in titles if title not in found] == [], "run `make pictures`"
    assert any("not by Grafana" in one for one in found)


@pytest.mark.parametrize(
    "definition", [one for one in DEFINITIONS if one.kind.plural in {"laketables", "compactions"}]
)
def test_pictures_of_kubectl_have_the_columns_of_now(definition: object) -> None:
    (kind, columns) = definition.kind.plural, definition.columns  # type: ignore[attr-defined]
    command, header, *rows = saved(kind)
    assert command == f"$ kubectl get {kind}"
    expected = ["NAME", *(column.name.upper() for column in columns if not column.wide)]
    assert header.split() == expected, "run `make pictures`"
    assert rows


def test_every_picture_is_shown_somewhere() -> None:
    pages = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    shown_in = {
        name for page in pages for name in re.findall(r"pictures/(\w+\.svg)", page.read_text("utf-8"))
    }
    assert shown_in == {path.name for path in (DOCS / "pictures").iterdir()}


def test_figures_are_what_the_queries_come_to() -> None:
    orders = {"table_namespace": "lake", "table": "orders", "identifier": "sales.orders"}
    users = {"table_namespace": "lake", "table": "users", "identifier": "crm.users"}
    found = drawn(
        *(
            scraped("lithify_tables", count, reason=reason)
            for reason, count in (("Ready", 40), ("Unsupported", 2))
        ),
        scraped("lithify_debt_bytes", 3 * 2**30),
        *(scraped("lithify_table_max_level0_files", count, **of) for count, of in ((7, orders), (31, users))),
        scraped("lithify_table_debt_bytes", 5 * 2**20, **users),
    )
    assert found[found.index("Tables") + 1] == "42"
    assert found[found.index("Not ready") + 1] == "2"
    assert found[found.index("Debt") + 1] == "3 GiB"
    table = found[found.index("LakeTable") :]
    assert table.index("crm.users") < table.index("sales.orders")
    assert table[table.index("crm.users") + 1] == "31"
    assert "5 MiB" in table[table.index("crm.users") : table.index("sales.orders")]
    assert {"Ready", "Unsupported"} <= {*found}


def test_panels_without_values_say_so() -> None:
    found = drawn(scraped("lithify_leader", 1))
    assert found[found.index("Leader") + 1] == "1"
    assert found.count("No data") > 20


def test_a_terminal_keeps_columns_and_odd_letters() -> None:
    assert words(terminal.draw("a title", [("kubectl get x", "NAME   A\n<&>    9→1\n")])) == [
        "$ kubectl get x",
        "NAME   A",
        "<&>    9→1",
    ]


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0, "short", "0"),
        (1234, "short", "1.23k"),
        (1023, "bytes", "1023 B"),
        (1.5 * 2**30, "bytes", "1.5 GiB"),
        (2048, "Bps", "2 KiB/s"),
        (0.0123, "s", "12.3 ms"),
        (90, "s", "90 s"),
        (2.5, "percentunit", "250 %"),
        (17.2, "percentunit", "1720 %"),
        (3600, "s", "3600 s"),
        (0.25, "reqps", "0.25/s"),
    ],
)
def test_values_are_shown_in_their_unit(value: float, unit: str, expected: str) -> None:
    assert shown(value, unit) == expected
