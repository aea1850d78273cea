"""The optimized line in the property `table.partition-properties`, which all versions read.

Called by `stored_line` and by commits. Versions up to 0.6.0 have no other form. The property is a JSON object
with an object of texts for each partition; what is not of the line is kept. Follows `TablePropertyUtil` and
`PartitionPropertiesUpdate` of Amoro. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lithify.errors import CorruptTable
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.partition_keys import PartitionKeys

PROPERTY = "table.partition-properties"
_SEQUENCE = "max-txId"
_TIME = "base-op-time"
_TRANSACTION = "base.table.max-transaction-id"
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_END = 1 << 63


def parse_line(properties: Mapping[str, str], keys: PartitionKeys) -> OptimizedLine:
    """The line that the properties of a base store have; empty if they have none.

    Raises:
        CorruptTable: the property is of another form.
    """
    stored = _stored(properties, keys)
    sequences, times, transactions = (
        dict(_numbers(stored, name, keys)) for name in (_SEQUENCE, _TIME, _TRANSACTION)
    )
    return OptimizedLine(sequences, times, transactions)


def moved_property(
    properties: Mapping[str, str], keys: PartitionKeys, sequences: Mapping[str, int], millis: int
) -> str:
    """The value of the property after a commit.

    Args:
        properties: the properties of the base store.
        keys: the names of its partitions.
        sequences: the new line of partitions whose changes were merged.
        millis: the time of the commit, in milliseconds since 1970.

    Raises:
        CorruptTable: see `parse_line`.
    """
    facts = {key: {_SEQUENCE: str(line), _TIME: str(millis)} for key, line in sequences.items()}
    return with_facts(properties, keys, facts)


def with_facts(
    properties: Mapping[str, str], keys: PartitionKeys, facts: Mapping[str, Mapping[str, str]]
) -> str:
    """The value of the property with facts of some partitions set.

    Entries of other partitions, and other facts of these, are as before. If several names are of one
    partition, which of them counts depends on the reader, so all of them are changed.

    Args:
        properties: the properties of the base store.
        keys: the names of its partitions.
        facts: the facts by the name of their partition.

    Raises:
        CorruptTable: see `parse_line`.
    """
    stored = _stored(properties, keys)
    names: dict[str, list[str]] = {}
    for name in stored:
        names.setdefault(keys.read(name), []).append(name)
    for key, changed in facts.items():
        for name in names.get(key, [key]):
            stored[name] = {**stored.get(name, {}), **changed}
    return json.dumps(stored)


def facts_named(properties: Mapping[str, str], keys: PartitionKeys, name: str) -> Mapping[str, str]:
    """A fact of each partition that has it, as text; the last one where names are of one partition.

    Raises:
        CorruptTable: see `parse_line`.
    """
    stored = _stored(properties, keys).items()
    return {keys.read(path): str(facts[name]) for path, facts in stored if facts.get(name) is not None}


def _stored(properties: Mapping[str, str], keys: PartitionKeys) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(properties.get(PROPERTY, "{}"))
    except (ValueError, RecursionError) as error:
        raise CorruptTable(keys.location, f"the property {PROPERTY} is not JSON") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise CorruptTable(keys.location, f"the property {PROPERTY} has no objects by partition")
    return found


def _numbers(
    stored: Mapping[str, Mapping[str, Any]], name: str, keys: PartitionKeys
) -> Iterator[tuple[str, int]]:
    """A number of each partition that has it; readers take the last one where names are of one partition."""
    for path, facts in stored.items():
        text = facts.get(name)
        if text is None:
            continue
        if _NUMBER.fullmatch(str(text)) is None or not -_END <= int(text) < _END:
            raise CorruptTable(keys.location, f"the property {PROPERTY} has a {name} that is no number")
        yield keys.read(path), int(text)
