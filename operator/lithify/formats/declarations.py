"""The words in which an adapter declares its figures, the triggers of policies, and what its catalogs need.

Used by the module `declarations` of each adapter, which has one `FORMAT`; `declared` reads them. Plain data
about names and texts, so that the operator's process can have it without the adapter. Imports nothing.

Names of figures and triggers are those of the resources' JSON, in camelCase; figures of groups have the names
of the JSON of `lithify inspect`, in snake_case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Kind(StrEnum):
    """What a figure is.

    A number, a share in per cent, the path of a group, which tenants have named, or figures of a few groups.
    """

    COUNT = "count"
    BYTES = "bytes"
    PERCENT = "percent"
    GROUP = "group"
    GROUPS = "groups"


class Combine(StrEnum):
    """How a metric makes one value of those of all tables."""

    SUM = "sum"
    LARGEST = "largest"


@dataclass(frozen=True, slots=True)
class Total:
    """A metric over all tables that have the figure; 0 if none has.

    Attributes:
        name: what follows `lithify_`.
        meaning: what it measures, as a clause.
        combine: how values of tables become one.
        is_by_size: whether the label `tables` tells large tables from all.
        elsewhere: what other programs call it.
    """

    name: str
    meaning: str
    combine: Combine = Combine.SUM
    is_by_size: bool = False
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """The metrics of a figure; a share in per cent becomes a ratio.

    Attributes:
        name: what follows `lithify_table_` in the series of single tables.
        meaning: what it measures, as a clause.
        totals: the metrics over all tables.
    """

    name: str
    meaning: str
    totals: tuple[Total, ...] = ()


MOST_GROUPS = 10
"""Groups of a figure of the kind `GROUPS`."""

FigureValue: TypeAlias = int | str | tuple[Mapping[str, int | str], ...] | None
"""A figure; of the kind `GROUPS` one mapping for each group, with the names of its parts."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a table, in status.

    Attributes:
        name: in the JSON of the resource.
        kind: what it is.
        description: for `kubectl explain`.
        is_optional: whether a table may lack it; paths of groups always may.
        metric: its metrics; None for none.
        column: heading in `kubectl get laketables -o wide`; None for no column.
        parts: the figures of each group, only for `GROUPS`; each of another kind, and set in every group.
    """

    name: str
    kind: Kind
    description: str
    is_optional: bool = False
    metric: Metric | None = None
    column: str | None = None
    parts: tuple[Figure, ...] = ()

    @property
    def may_be_unset(self) -> bool:
        """Whether a table may lack it."""
        return self.is_optional or self.kind is Kind.GROUP


@dataclass(frozen=True, slots=True)
class GroupFigure:
    """A number of a single group, in `lithify inspect`; groups with most of a block's first one come first.

    Attributes:
        name: in JSON.
        noun: what is counted, in the singular.
        plural: its plural; empty for one that ends in s.
    """

    name: str
    noun: str
    plural: str = ""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The parts of a group's files, of which `lithify inspect` draws a bar each.

    A part is a mapping of names to numbers, among them `files`, `bytes` and `rows`.

    Attributes:
        name: of the list of parts in JSON.
        part: which of its numbers tells a part from others, and what it is called.
        unmerged: the number of the part that no compaction has merged yet; None for none.
    """

    name: str
    part: str
    unmerged: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Figures of one kind of tables; other tables lack all of them.

    Attributes:
        name: in the JSON of the resource, beside the figures that every table has.
        tables: which tables have it, as in `figures of ...`.
        description: for `kubectl explain`.
        figures: those of a table.
        group_figures: those of a single group.
        breakdown: the parts of a group's files; None if it has none.
    """

    name: str
    tables: str
    description: str
    figures: tuple[Figure, ...]
    group_figures: tuple[GroupFigure, ...] = ()
    breakdown: Breakdown | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger of policies, which becomes a table option.

    Attributes:
        name: in the JSON of the resource.
        description: for `kubectl explain`.
        option: the table option that it overrides.
        minimum: its least value; None for a size, which is written as a quantity such as `64Mi`.
        maximum: its largest value; None for a size.
        written: the option's value, of a number or of bytes.
    """

    name: str
    description: str
    option: str
    minimum: int | None = None
    maximum: int | None = None
    written: Callable[[int], str] = str

    @property
    def is_size(self) -> bool:
        """Whether it is a quantity of bytes."""
        return self.minimum is None


@dataclass(frozen=True, slots=True)
class TriggerGroup:
    """The triggers of one kind of tables, a block of `spec.triggers`."""

    name: str
    description: str
    triggers: tuple[Trigger, ...]


@dataclass(frozen=True, slots=True)
class OffPeakOptions:
    """The table options of hours in which larger compactions are preferred."""

    start_hour: str
    end_hour: str
    size_ratio_percent: str


@dataclass(frozen=True, slots=True)
class UriForm:
    """How the addresses of catalogs are written: a regular expression, and a clause for people."""

    pattern: str
    clause: str


@dataclass(frozen=True, slots=True)
class Metastore:
    """Where catalogs store their metadata; formats that have the same one declare the same.

    Attributes:
        name: in the JSON of the resource, such as `Rest`.
        option: its value of the catalog option `metastore`.
        uri: the form of its catalogs' addresses; None if they have none.
        names_warehouses: whether a warehouse is a name that its server knows, and not a path.
    """

    name: str
    option: str
    uri: UriForm | None = None
    names_warehouses: bool = False


FILESYSTEM = Metastore("Filesystem", "filesystem")
REST = Metastore(
    "Rest",
    "rest",
    UriForm("^https?://[^/ ]+.*$", "begins with http:// or https://"),
    names_warehouses=True,
)
JDBC = Metastore("Jdbc", "jdbc", UriForm("^jdbc:", "begins with jdbc:"))
HIVE = Metastore("Hive", "hive", UriForm("^thrift://", "begins with thrift://"))
GLUE = Metastore("Glue", "glue")


def as_millis(seconds: int) -> str:
    """Seconds as the text of an option in milliseconds."""
    return str(1000 * seconds)


def as_ratio(percent: int) -> str:
    """A number of per cent as options have ratios; a `written` of triggers."""
    return str(percent / 100)


@dataclass(frozen=True, slots=True)
class CatalogRule:
    """What the spec of a Catalog of one format must fulfil, besides the rules for all.

    Attributes:
        expression: a CEL expression over the spec, as `self`.
        message: what must be, for people.
        field_path: the field to which it belongs, such as `.options`.
    """

    expression: str
    message: str
    field_path: str


def required_option(metastore: Metastore, option: str, message: str) -> CatalogRule:
    """The rule that catalogs of a metastore have an option, from their spec or from a Secret."""
    expression = (
        f"self.metastore != '{metastore.name}' || (has(self.options) && '{option}' in self.options) "
        f"|| (has(self.secretRef) && '{option}' in self.secretRef.options)"
    )
    return CatalogRule(expression, message, ".options")


@dataclass(frozen=True, slots=True)
class Format:
    """Everything that an adapter declares.

    Attributes:
        blocks: the figures of its tables, by kind of table.
        triggers: the triggers of policies, by kind of table.
        off_peak: its options of off-peak hours; None if compactions have none.
        metastores: where its catalogs store metadata; the first is the default.
        catalog_rules: what its Catalogs must fulfil besides what follows from the metastores.
        credential_options: catalog options with credentials, beside those whose names say so for all formats.
        yield_option: the table option by which compactions give way to writers; empty if there is none.
    """

    metastores: tuple[Metastore, ...]
    blocks: tuple[Block, ...] = ()
    triggers: tuple[TriggerGroup, ...] = ()
    off_peak: OffPeakOptions | None = None
    catalog_rules: tuple[CatalogRule, ...] = ()
    credential_options: tuple[str, ...] = ()
    yield_option: str = ""
