"""Fields of our kinds, values of the chart, options and series that the pages name exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml

from infrastructure.chart.rendering import CHART
from lithify.controller.telemetry.series import SECTIONS
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS as OF_ICEBERG
from lithify.formats.iceberg.support.rules import load as properties
from lithify.formats.paimon.access.catalog_options import CATALOG_OPTIONS as OF_PAIMON
from lithify.formats.paimon.support.loading import load
from lithify.io.objects.stores import OPTION_NAMES
from lithify.resources.crd import DEFINITIONS, schema_of
from support.pages import CURRENT, OPERATOR, ROOT, Page

Words = tuple[str, ...]

GENERATED = {"docs/support.md", "docs/support-iceberg.md", "docs/metrics.md"}
"""Made of what they speak of, and full of others' words."""
FOREIGN: Mapping[str, set[str]] = {
    "CONTRIBUTING.md": {"errors.py"},
    "README.md": {"uv.lock"},
    "docs/batch-schedulers.md": {
        "gangSchedulingStyle",
        "integrations.frameworks",
        "managedJobsNamespaceSelector",
        "minMember",
        "minResource",
    },
    "docs/benchmarks.md": {"variant.inferShreddingSchema"},
    "docs/commands.md": {"a.b.t", "change.data.ttl.minutes", "shop.orders"},
    "docs/discovery.md": {"database.table", "sales.orders"},
    "docs/keyed-tables.md": {
        "arctic.enabled",
        "arctic.table.root-location",
        "base.hive.auto-sync-data-write",
        "base.hive.location-root",
        "base.hive.refresh-interval",
        "change.data.ttl.minutes",
        "db.t",
        "lithify.source",
        "self-optimizing.enabled",
        "self-optimizing.full.trigger.interval",
        "self-optimizing.max-file-count",
        "table-expire.enabled",
    },
    "docs/monitoring.md": {"honorLabels"},
    "docs/object-stores.md": {
        *("account.dfs.core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net"),
        *("fs.gs.auth.service.account.json.keyfile", "fs.oss.server-side-encryption"),
        *("hadoop.dfs.ha.namenodes.lake", "krb5.conf"),
        *("bucket.region.oss-dls.aliyuncs.com", "oss-cn-hangzhou-internal.aliyuncs.com"),
        *(f"storage.objects.{what}" for what in ("create", "delete", "get", "list")),
    },
    "docs/operator.md": {
        "cluster.local",
        "minio.storage.svc",
        "self-optimizing.minor.trigger.file-count",
        "self-optimizing.target-size",
    },
    "docs/security.md": {"managedFields", "resourceNames"},
    "spark-images/README.md": {"operator.tar", "spark.tar"},
}
"""Words of other programs, names of tables, hosts and files."""
_PATH = re.compile(r"\.?([a-z][a-zA-Z0-9-]*(?:\.[a-z][a-zA-Z0-9-]*)*)(?:\[\])?(?:[:=] ?\S.*)?")
_SPARK = re.compile(r"spark\.(?!image\b|kueue\b)")
"""Spark's own settings; it has none of these names."""
_OUR_KINDS = re.compile(rf"kubectl get ({'|'.join(f'{each.singular}s?' for each in DEFINITIONS)})\b")
_PRINTED = re.compile(r"\.((?:spec|status)\.[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)")
"""A path up to the first list or filter in it."""
_SERIES = re.compile(r"\blithify_[a-z0-9_]+")
_PARTS = ("_bucket", "_sum", "_count")
PLACES = [page for page in CURRENT if page.name not in GENERATED]
each_page = pytest.mark.parametrize("page", PLACES, ids=lambda page: page.name)


def paths(node: Any) -> Iterator[Words]:
    """The paths of fields of a schema, or of values."""
    is_schema = isinstance(node, Mapping) and {"properties", "items", "additionalProperties"} & node.keys()
    if is_schema and "properties" in node:
        for name, child in node["properties"].items():
            yield (name,)
            yield from ((name, *rest) for rest in paths(child))
    elif is_schema:
        yield from paths(node.get("items", node.get("additionalProperties")))


def values(node: Any) -> Iterator[Words]:
    """The paths of a chart's values."""
    for name, child in node.items() if isinstance(node, Mapping) else ():
        yield (name,)
        yield from ((name, *rest) for rest in values(child))


def endings(found: Iterable[Words]) -> set[Words]:
    """Paths as people shorten them: without what stands before."""
    return {path[start:] for path in found for start in range(len(path))}


@cache
def known() -> frozenset[Words]:
    """Everything that a word of code with dots or capitals in it may name."""
    fields = (path for each in DEFINITIONS for path in paths(schema_of(each)))
    chart = values(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")))
    rules = {name for rule in (*load().options, *properties()) for name in rule.names}
    options = {name for of in (OF_ICEBERG, OF_PAIMON) for each in of.known.values() for name in each}
    words = {*options, *OPTION_NAMES, *rules}
    sources = (ROOT / "operator" / "lithify").rglob("*.py")
    modules = (path.relative_to(ROOT / "operator" / "lithify").with_suffix("").parts for path in sources)
    return frozenset(
        {*endings(fields), *endings(chart), *modules, *(tuple(word.split(".")) for word in words)}
    )


def unknown_fields(page: Page) -> list[str]:
    """The words of a page that look like fields or options, and that nothing has."""
    found = {match[1] for match in map(_PATH.fullmatch, page.spans) if match is not None}
    named = {word for word in found if "." in word or word != word.lower()}
    ours = {word for word in named if not _SPARK.match(word)}
    return sorted(
        word for word in ours - FOREIGN.get(page.name, set()) if tuple(word.split(".")) not in known()
    )


def unknown_series(page: Page) -> list[str]:
    """Names of series on a page that the operator does not have; one that ends in _ stands for several."""
    names = {series.name for section in SECTIONS.values() for series in section}
    all_names = names | {name + part for name in names for part in _PARTS}
    found = set(_SERIES.findall(page.text))
    return sorted(
        name
        for name in found
        if name not in all_names and not (name.endswith("_") and any(each.startswith(name) for each in names))
    )


def unknown_paths(page: Page) -> list[str]:
    """Paths that commands of a page print of our kinds, and that these do not have."""
    lines = [line for block in page.blocks for line in block.text.splitlines() if _OUR_KINDS.search(line)]
    found = {path for line in lines for path in _PRINTED.findall(line)}
    return sorted(path for path in found if tuple(path.split(".")) not in known())


@each_page
def test_every_field_on_a_page_exists(page: Page) -> None:
    assert unknown_fields(page) == []


@each_page
def test_paths_that_commands_print_exist(page: Page) -> None:
    assert unknown_paths(page) == []


def test_a_path_that_does_not_exist_is_noticed() -> None:
    old, new = ".status.observation.level0Files", ".status.observation.bytes"
    line = f"$ kubectl get laketables -o custom-columns=L:{old},B:{new}"
    page = Page(ROOT / "x.md", f"```console\n{line}\n```\n")
    assert unknown_paths(page) == ["status.observation.level0Files"]


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)
def test_every_series_on_a_page_exists(page: Page) -> None:
    assert unknown_series(page) == []


@each_page
def test_words_of_others_are_still_there(page: Page) -> None:
    assert [word for word in FOREIGN.get(page.name, ()) if word not in page.text] == []


def test_the_fields_are_some() -> None:
    found = [word for word in OPERATOR.spans if _PATH.fullmatch(word) and word != word.lower()]
    assert len(found) > 20


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        (
            "`spec.spark.executor.podTemplat`, `spec.spark.executor.podTemplate`",
            "spec.spark.executor.podTemplat",
        ),
        ("`timeoutSecond`, `timeoutSeconds`", "timeoutSecond"),
        ("`operator.allowedAddresses`, `operator.openAddresses`", "operator.openAddresses"),
        ("`result.recovered`, `result.discovered`", "result.discovered"),
    ],
)
def test_what_does_not_exist_is_noticed(text: str, unknown: str) -> None:
    assert unknown_fields(Page(ROOT / "x.md", text)) == [unknown]


def test_a_series_that_is_not_there_is_noticed() -> None:
    text = "`lithify_tables`, `lithify_table_`, `lithify_tables_gone`"
    assert unknown_series(Page(ROOT / "x.md", text)) == ["lithify_tables_gone"]
