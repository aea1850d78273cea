"""The Catalog resource: how to reach the tables of a warehouse."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from lithify.formats.adapters import FORMATS, format_titled, title_of
from lithify.formats.declarations import Metastore
from lithify.formats.declared import declared, format_named, metastores
from lithify.resources.modelling import NAME_LENGTH, OWN_NAME_LENGTH, Rule, matching, name_rule, part, rules
from lithify.resources.objects import (
    CONDITIONS,
    NAME_FORM,
    OBJECT_NAME,
    Condition,
    Metadata,
    Reference,
)

OptionName = Annotated[str, Field(min_length=1, max_length=128)]
OptionValue = Annotated[str, Field(max_length=1024)]
OPTION_NAMES = Rule(
    "self.all(name, name.size() >= 1 && name.size() <= 128)", "names of options have 1 to 128 characters"
)
OWN_FIELDS = Rule(
    "self.all(name, !(name in ['metastore', 'uri', 'warehouse']))",
    "metastore, uri and warehouse are fields of the spec, not options",
)
TablePattern = Annotated[
    str,
    matching(
        r"^[^.\s]+(\.[^.\s]+)+$",
        "a pattern is written database.table, with * and ? for what may differ, such as sales.* or *.orders",
        min_length=3,
        max_length=256,
    ),
]
_DECLARED_CREDENTIALS = (re.escape(name) for each in FORMATS for name in declared(each).credential_options)
_CREDENTIAL_WORDS = (
    *("^header[.]", "secret", "password", "(api|access|account|private).?key", "(session|security).?token"),
    *("(access.?token|[.]token|^token)$", "(sas|fixed).?token([.]|$)"),
    *(f"^{name}$" for name in _DECLARED_CREDENTIALS),
)
_CREDENTIAL = f"(?i)({'|'.join(_CREDENTIAL_WORDS)})"
"""Any header counts: which of them a server takes for a credential is known only there."""
_QUOTED = _CREDENTIAL.replace("\\", "\\\\")
CREDENTIALS = Rule(
    f"self.all(name, !name.matches('{_QUOTED}'))",
    "credentials belong into a Secret: remove them here, and name the Secret and its keys in spec.secretRef",
)


def _metastores_of(name: str) -> Iterator[Rule]:
    """Which of the metastores on offer are a format's own."""
    its, spelled = declared(name), title_of(name)
    own = [each.name for each in its.metastores]
    if len(own) < len(metastores()):
        yield Rule(
            f"self.format != '{spelled}' || self.metastore in {own}",
            f"the metastore of a catalog of the format {spelled} is {_listed(own, 'or')}",
            ".metastore",
        )


def _metastore_rules(known: Sequence[Metastore]) -> Iterator[Rule]:
    """What metastores, of whichever format, ask of the uri and the warehouse."""
    with_uri = {each.name: each.uri for each in known if each.uri is not None}
    without = [each.name for each in known if each.uri is None]
    yield Rule(
        f"self.metastore in {without} ? !has(self.uri) : has(self.uri)",
        f"uri is required for the metastores {_listed(with_uri, 'and')}, and has no meaning for "
        f"{_listed(without, 'and')}",
        ".uri",
    )
    for name, form in with_uri.items():
        yield Rule(
            f"!has(self.uri) || self.metastore != '{name}' || self.uri.matches('{form.pattern}')",
            f"the uri of a {name} catalog {form.clause}",
            ".uri",
        )
    in_paths = [each.name for each in known if not each.names_warehouses]
    yield Rule(
        f"!(self.metastore in {in_paths}) || self.warehouse.matches('^(/|[a-zA-Z][a-zA-Z0-9+.-]*:/)')",
        f"the warehouse of a {_listed(in_paths, 'or')} catalog is an absolute path or a URI such as "
        "s3://bucket/path",
        ".warehouse",
    )


def _listed(names: Collection[str], word: str) -> str:
    """Names with commas, and a word before the last."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def _declared_rules(name: str) -> Iterator[Rule]:
    """What a format asks besides."""
    for rule in declared(name).catalog_rules:
        yield Rule(f"self.format != '{title_of(name)}' || ({rule.expression})", rule.message, rule.field_path)


def _known_metastore(name: str) -> str:
    if name not in _METASTORES:
        raise ValueError(f"the metastore is one of {', '.join(_METASTORES)}")
    return name


_OFFERED = tuple(title_of(name) for name in FORMATS)
_METASTORES = tuple(each.name for each in metastores())
_OF_FORMATS = (
    *(rule for name in FORMATS for rule in _metastores_of(name)),
    *_metastore_rules(metastores()),
    *(rule for name in FORMATS for rule in _declared_rules(name)),
)
"""The rules that follow from what adapters declare of their formats."""
_OWNERS = " or ".join(f"{name}'s" for name in _OFFERED)
_WITH_URI = _listed([each.name for each in metastores() if each.uri is not None], "or")


@part()
class SecretReference:
    """Takes catalog options, for example credentials, from a Secret in the same namespace."""

    name: str = matching(
        OBJECT_NAME, NAME_FORM, description="Name of the Secret.", min_length=1, max_length=NAME_LENGTH
    )
    options: Mapping[OptionName, Annotated[str, Field(min_length=1, max_length=253)]] = Field(
        description="Which key of the Secret holds the value of which catalog option.",
        examples=[{"s3.access-key": "access-key", "s3.secret-key": "secret-key"}],
        min_length=1,
        max_length=32,
        json_schema_extra=rules(OPTION_NAMES, OWN_FIELDS),
    )


class Prune(StrEnum):
    """What happens to a LakeTable that discovery made, once discovery no longer includes its table."""

    KEEP = "Keep"
    ORPHAN = "Orphan"
    DELETE = "Delete"


class Recreate(StrEnum):
    """Whether a table gets another LakeTable after a user has deleted its LakeTable."""

    ALWAYS = "Always"
    NEVER = "Never"


@part()
class Discovery:
    """Creates a LakeTable for each table found in the catalog; docs/discovery.md has the details."""

    include: tuple[TablePattern, ...] = Field(
        description="Which tables, as `database.table` with * and ?; * stands for dots, too.",
        min_length=1,
        max_length=64,
    )
    exclude: tuple[TablePattern, ...] = Field(
        default=(), description="Tables to leave out; wins over `include`.", max_length=64
    )
    policy_ref: Reference = Field(
        default=Reference(name="default"), description="The CompactionPolicy of the new LakeTables."
    )
    interval_seconds: int = Field(
        default=3600, description="Seconds between two searches for new tables.", ge=60, le=604800
    )
    prune: Prune = Field(
        default=Prune.KEEP,
        description="What happens to unchanged LakeTables that discovery made, once their table is dropped "
        "or excluded. Keep: they stay, and the condition Pruned counts them. Orphan: they stay without the "
        "labels of discovery. Delete: they are deleted; tables never are.",
    )
    prune_limit_percent: int = Field(
        default=25,
        description="Prunes nothing if more than this share of the LakeTables that discovery made, and more "
        "than five, would go at once, or if no table is found at all. 100 disables both limits.",
        ge=1,
        le=100,
    )
    recreate: Recreate = Field(
        default=Recreate.ALWAYS,
        description="Whether a table gets another LakeTable after its LakeTable was deleted. Never: only a "
        "user can create it.",
    )


@part(
    Rule(
        "!has(self.options) || !has(self.secretRef) "
        "|| self.options.all(name, !(name in self.secretRef.options))",
        "an option stands either in options or in secretRef.options, not in both",
        ".options",
    ),
    *_OF_FORMATS,
)
class CatalogSpec:
    """How to reach the catalog."""

    format: str = Field(
        default=_OFFERED[0], description="Format of its tables.", json_schema_extra={"enum": [*_OFFERED]}
    )
    metastore: Annotated[str, AfterValidator(_known_metastore)] = Field(
        default=_METASTORES[0],
        description="Where it stores its metadata.",
        json_schema_extra={"enum": [*_METASTORES]},
    )
    warehouse: str = Field(
        description="Root directory of the warehouse; for a Rest catalog the name of the warehouse.",
        min_length=1,
        max_length=1024,
    )
    uri: str | None = Field(
        default=None, description=f"Address of a {_WITH_URI} catalog.", min_length=1, max_length=1024
    )
    options: Mapping[OptionName, OptionValue] = Field(
        default_factory=dict,
        description=f"Catalog options by {_OWNERS} names, as listed in docs/commands.md; others are refused. "
        "Credentials belong into a Secret, see secretRef.",
        max_length=64,
        json_schema_extra=rules(OPTION_NAMES, OWN_FIELDS, CREDENTIALS),
    )
    secret_ref: SecretReference | None = Field(
        default=None, description="Catalog options that are kept in a Secret."
    )
    timeout_seconds: int = Field(
        default=90,
        description="Timeout of one observation of a table. Below 90, a store that does not answer may be "
        "reported only as an observation that timed out. The operator may set a lower limit; then Ready "
        "says so.",
        ge=1,
        le=600,
    )
    discovery: Discovery | None = Field(
        default=None, description="Finds the tables automatically. Off if unset."
    )


def is_credential(option: str) -> bool:
    """Whether a catalog option holds a credential, which is allowed in a Secret only."""
    return re.search(_CREDENTIAL, option) is not None


def catalog_options(spec: CatalogSpec, secret: Mapping[str, str]) -> dict[str, str]:
    """A catalog's options as its format names them, including those from a Secret."""
    its = format_named(format_titled(spec.format))
    known = {} if its is None else {each.name: each.option for each in its.metastores}
    metastore = known.get(spec.metastore, spec.metastore.lower())
    uri = {} if spec.uri is None else {"uri": spec.uri}
    return {**spec.options, **secret, "metastore": metastore, **uri}


MOST_REMEMBERED = 16384
"""Maximum number of remembered tables of a catalog, far below the size limit of the API server for a
status."""
DIGEST_LENGTH = 8
DIGESTS_EACH = 64
"""Digests in one entry of the list: a text in a status has at most `MESSAGE_LENGTH` characters."""
Digests = Annotated[
    str,
    matching(
        r"^[A-Za-z0-9_-]+$",
        "digests have letters, digits, _ and -; the operator writes them",
        max_length=DIGEST_LENGTH * DIGESTS_EACH,
    ),
]


@part()
class CatalogStatus:
    """The observed state of the catalog."""

    observed_generation: int = Field(
        default=-1, description="The last generation of the spec that was processed.", ge=-1
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Ready: the catalog answers. AllDiscovered: each table that discovery has found has a "
        "LakeTable. Pruned: each LakeTable that discovery made still has its table. AllSupported: False if "
        "some tables cannot be compacted.",
        max_length=8,
        json_schema_extra=CONDITIONS,
    )
    tables: int | None = Field(default=None, description="Number of LakeTables that use it.", ge=0)
    discovered_tables: int | None = Field(
        default=None, description="Number of tables that discovery found.", ge=0
    )
    remembered: tuple[Digests, ...] = Field(
        default=(),
        description="With recreate Never: digests of the tables that have or had a LakeTable, each of eight "
        "characters.",
        max_length=MOST_REMEMBERED // DIGESTS_EACH,
    )


@part(name_rule("Catalog", OWN_NAME_LENGTH))
class Catalog:
    """A warehouse of lakehouse tables, and how to reach it."""

    metadata: Metadata
    spec: CatalogSpec
    status: CatalogStatus = CatalogStatus()
