"""Merge engines of random histories: their options, and what a history must not do then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from java.fuzz.expiring import expires

DEDUPLICATE, PARTIAL_UPDATE, FIRST_ROW = "deduplicate", "partial-update", "first-row"
AGGREGATION = "aggregation"
IGNORE = (
    "ignore-delete",
    *(f"{engine}.ignore-delete" for engine in (FIRST_ROW, DEDUPLICATE, PARTIAL_UPDATE)),
)
_ON_DELETE = "partial-update.remove-record-on-delete"
_ON_GROUP = "partial-update.remove-record-on-sequence-group"
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
_NO_ORDER = ("BOOLEAN", "VARIANT", "MULTISET", "VECTOR", "BYTES", "BINARY", "VARBINARY")


def draw_engine(random: Random) -> str:
    """A merge engine."""
    return random.choices([DEDUPLICATE, PARTIAL_UPDATE, FIRST_ROW], [5, 5, 2])[0]


def draw_engine_options(random: Random, engine: str, columns: Mapping[str, str]) -> dict[str, str]:
    """Options of an engine; groups are made of these columns, which may be null and keep their types."""
    if engine == DEDUPLICATE:
        return {}
    options = {"merge-engine": engine}
    if engine == FIRST_ROW:
        return {**options, **({random.choice(IGNORE): "true"} if random.random() < 0.3 else {})}
    groups = _groups(random, columns) if random.random() < 0.7 else {}
    options.update(groups)
    draw = random.random()
    if draw < 0.2:
        options[random.choice(IGNORE)] = "true"
    elif draw < 0.6 and groups:
        fields = [name for option in groups for name in option.split(".")[1].split(",")]
        options[_ON_GROUP] = ",".join(random.sample(fields, random.randint(1, min(2, len(fields)))))
    elif draw < 0.6:
        options[_ON_DELETE] = "true"
    grouped = [name for value in groups.values() for name in value.split(",")]
    for name in grouped:
        if random.random() < 0.4:
            options[f"fields.{name}.aggregate-function"] = random.choice(_functions(columns[name]))
    return options


def _groups(random: Random, columns: Mapping[str, str]) -> dict[str, str]:
    """One or two groups, with one or two sequence fields each."""
    orderly = [name for name, kind in columns.items() if not kind.startswith(_NESTED)]
    groups = {}
    free = [*columns]
    for _ in range(random.choice([1, 1, 2])):
        fields = [
            name
            for name in random.sample(orderly, min(len(orderly), random.choice([1, 1, 2])))
            if name in free
        ]
        others = [name for name in free if name not in fields]
        if not fields or not others:
            break
        members = random.sample(others, random.randint(1, len(others)))
        free = [name for name in others if name not in members]
        groups[f"fields.{','.join(fields)}.sequence-group"] = ",".join(members)
    return groups


_NESTED = ("ARRAY", "MAP", "ROW", "VARIANT", "MULTISET", "VECTOR")


def _functions(kind: str) -> Sequence[str]:
    always = ["last_value", "last_non_null_value", "first_value"]
    if kind in ("STRING", "BOOLEAN"):
        return [*always, *(["listagg", "listagg"] if kind == "STRING" else ["bool_and", "bool_or"])]
    if kind.startswith(_NUMBERS):
        return [*always, "sum", "sum", "product", "max", "min"]
    return always if kind.startswith((*_NO_ORDER, *_NESTED)) else [*always, "max", "min"]


_WITHOUT_RETRACTION = {"product", "max", "min", "listagg", "bool_and", "bool_or"}
_WITH_STATE = {"first_value", "first_non_null_value"}
"""Lithify refuses deletes with these even if they are ignored."""


def takes_deletes(options: Mapping[str, str]) -> bool:
    """Whether rows may retract their key without Java failing over it."""
    engine = options.get("merge-engine", DEDUPLICATE)
    ignores = options.get(next((name for name in IGNORE if name in options), ""), "false") == "true"
    if engine == DEDUPLICATE or ignores:
        return True
    if engine == AGGREGATION:
        return True  # functions that cannot retract pass over what does
    if engine == FIRST_ROW or any(_refuses_deletes(options, name) for name in options):
        return False
    return options.get(_ON_DELETE) == "true" or any(name.endswith(".sequence-group") for name in options)


def _refuses_deletes(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is a function that deletes must not reach."""
    function = options[name]
    if not name.endswith(".aggregate-function") or function in _WITH_STATE:
        return name.endswith(".aggregate-function")
    ignores = options.get(name.replace(".aggregate-function", ".ignore-retract")) == "true"
    return function in _WITHOUT_RETRACTION and not ignores


def is_stable(options: Mapping[str, str]) -> bool:
    """Whether readers see the same before and after a compaction, whatever it takes in.

    Readers of first-row, or of tables with deletion vectors, see nothing of level 0, and no reader sees
    postponed rows. Readers see rows that are due to expire.
    """
    if expires(options) or options.get("deletion-vectors.enabled") == "true" or options["bucket"] == "-2":
        return False
    engine = options.get("merge-engine", DEDUPLICATE)
    return engine == DEDUPLICATE or (engine == PARTIAL_UPDATE and is_associative(options))


def is_associative(options: Mapping[str, str]) -> bool:
    """Whether a partial update does not depend on which records are merged with each other first.

    With deletes, functions or a sequence field it does: what a compaction of some files leaves adds up to
    something else, with Java as well. A merged record has values of several, and one place in the order.
    """
    has_functions = any(name.endswith(".aggregate-function") for name in options)
    return not has_functions and not takes_deletes(options) and "sequence.field" not in options
