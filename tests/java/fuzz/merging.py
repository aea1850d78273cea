"""Merge engines of random histories: which functions columns get, so that Java refuses none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from java.fuzz.changes import Columns
from java.fuzz.types import Array, Atom, Map, Record, Required, Type
from support.comparing.sketches import SKETCHES

REMOVE = "aggregation.remove-record-on-delete"
_SELECTING = ("last_value", "last_non_null_value", "first_value", "first_non_null_value")
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_WIDE = ("FLOAT", "DOUBLE", "DECIMAL(19", "DECIMAL(38")
_UNORDERED = ("BOOLEAN", "VARIANT", "MULTISET", "VECTOR")
_UNHASHED = ("B", "VARB", "VARIANT", "MULTISET", "VECTOR")
"""What begins like this is told apart by identity in Java, but for BOOLEAN and BIGINT."""
_LATE = {"merge_map", "nested_update", "nested_partial_update", *SKETCHES}
OF_SKETCHES = ("BYTES", "VARBINARY")
_RETRACTING = ("last_value", "last_non_null_value", "sum", "merge_map")


def draw_aggregation(random: Random, columns: Columns) -> dict[str, str]:
    """The options of the engine aggregation; columns that have a function are pinned."""
    options, columns.merged = {"merge-engine": "aggregation"}, True
    removes = random.random() < 0.25
    if removes:
        options[REMOVE] = "true"
    if random.random() < 0.3:
        options["fields.default-aggregate-function"] = random.choice(_SELECTING[:2])
    for name, kind in columns.now.items():
        if name in columns.fixed or random.random() < 0.15:
            continue
        said = dict(_said(random, kind))
        options.update({f"fields.{name}.{key}": value for key, value in said.items()})
        function = said["aggregate-function"]
        columns.pinned.add(name)
        ignores = function not in _RETRACTING and not _retracts(kind, said)
        if not removes and (ignores or random.random() < 0.2):
            options[f"fields.{name}.ignore-retract"] = "true"
    return options


def draw_late_functions(random: Random, columns: Mapping[str, Type]) -> dict[str, str]:
    """Functions of columns in sequence groups whose result depends on the order of their arguments."""
    options: dict[str, str] = {}
    for name, kind in columns.items():
        functions = [
            *_LATE.intersection(_functions(kind)),
            *(["first_non_null_value"] if random.random() < 0.1 else []),
        ]
        if not functions or random.random() < 0.3:
            continue
        function = random.choice(sorted(functions))
        said = dict(_details(random, kind, function))
        retracts = function in _RETRACTING or _retracts(kind, said)
        if not retracts or random.random() < 0.2:
            said["ignore-retract"] = "true"
        options.update({f"fields.{name}.{key}": value for key, value in said.items()})
    return options


def _said(random: Random, kind: Type) -> Iterator[tuple[str, str]]:
    """The function of a column of a type, and its details."""
    functions = [*_SELECTING, *_functions(kind) * 3]
    yield from _details(random, kind, random.choice(functions))


def _details(random: Random, kind: Type, function: str) -> Iterator[tuple[str, str]]:
    yield "aggregate-function", function
    if function == "listagg":
        yield "list-agg-delimiter", random.choice([",", ";", ", "])
        yield "distinct", random.choice(["true", "false"])
    if function == "collect" and isinstance(kind, Array) and _is_hashed(kind.element):
        yield "distinct", random.choice(["true", "false"])
    if function.startswith("nested") and isinstance(kind, Array):
        keys = _keys(kind.element)
        if keys and (function == "nested_partial_update" or random.random() < 0.6):
            yield "nested-key", ",".join(random.sample(keys, random.randint(1, len(keys))))
        if function == "nested_update" and random.random() < 0.4:
            yield "count-limit", random.choice(["1", "3", "5"])


def _functions(kind: Type) -> list[str]:
    """The functions that a type has beside those that all have."""
    match kind:
        case Atom(name):
            functions = [] if name.startswith(_UNORDERED) else ["max", "min"]
            if name in _INTEGERS or name.startswith(_WIDE):
                functions += ["sum", "sum", "product"]
            if name.startswith(OF_SKETCHES):
                functions += [*SKETCHES, *SKETCHES]
            if name == "STRING":
                functions.append("listagg")
            return [*functions, "bool_and", "bool_or"] if name == "BOOLEAN" else functions
        case Array(element):
            if isinstance(_bare(element), Record):
                return ["collect", "nested_update", *(["nested_partial_update"] if _keys(element) else [])]
            return ["collect"]
        case Map():
            return ["merge_map"]
    return []


def _retracts(kind: Type, said: Mapping[str, str]) -> bool:
    """Whether arrays of this type can be retracted."""
    if said["aggregate-function"] == "collect":
        return isinstance(kind, Array) and _is_hashed(kind.element)
    return said["aggregate-function"] == "nested_update" and "nested-key" in said


def _keys(element: Type) -> list[str]:
    """The fields of an array's rows that may be its key."""
    bare = _bare(element)
    return [name for name, part in bare.fields if _is_hashed(part)] if isinstance(bare, Record) else []


def _is_hashed(element: Type) -> bool:
    bare = _bare(element)
    if not isinstance(bare, Atom) or bare.name in ("FLOAT", "DOUBLE"):
        return False
    return bare.name in ("BOOLEAN", "BIGINT") or not bare.name.startswith(_UNHASHED)


def _bare(kind: Type) -> Type:
    return kind.part if isinstance(kind, Required) else kind
