"""The names of objects that the operator creates: valid, deterministic, and unique for each thing.

Used by `discovery` and `reconciling`. Driver pods are named after Compactions and Spark's executors after
these, so a name is limited to 52 characters.
"""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256

MOST_LENGTH = 52
LABEL_LENGTH = 63

# Without vowels and lookalikes, so that no hash reads as a word.
_ALPHABET = "bcdfghjkmnpqrstvwxz2456789"
_HASH_LENGTH = 5
_LONG_HASH_LENGTH = 8
_FOREIGN = re.compile(r"[^a-z0-9]+")
_PLAIN = re.compile(r"[a-z0-9]+\.[a-z0-9]+")


def run_name(table_name: str, number: int, uid: str) -> str:
    """The name of a table's Compaction with that number, for example `orders-7-k2x9q`.

    It depends on the LakeTable alone, so the API server refuses to create the same run twice. The uid
    distinguishes it from runs of an earlier LakeTable of the same name.
    """
    ending = f"-{number}-{_hash(f'{uid}/{number}', _HASH_LENGTH)}"
    return _cut(_FOREIGN.sub("-", table_name.lower()), ending)


def table_object_name(catalog: str, identifier: str, taken: Container[str] = ()) -> str:
    """The name of the LakeTable of `database.table` that discovery creates: `<database>-<table>`.

    A hash follows where that is ambiguous: characters were replaced, it is too long, or an object of that
    name exists already.
    """
    plain = identifier.replace(".", "-")
    if _PLAIN.fullmatch(identifier) and len(plain) <= MOST_LENGTH and plain not in taken:
        return plain
    ending = f"-{_hash(f'{catalog}/{identifier}', _LONG_HASH_LENGTH)}"
    return _cut(_FOREIGN.sub("-", identifier.lower()), ending)


def label_value(name: str) -> str:
    """An object's name as a label value, whose limit is lower: cut, and with a hash, if too long."""
    if len(name) <= LABEL_LENGTH:
        return name
    return _cut(name, f"-{_hash(name, _LONG_HASH_LENGTH)}", LABEL_LENGTH)


def _cut(text: str, ending: str, length: int = MOST_LENGTH) -> str:
    return text[: length - len(ending)].strip("-.") + ending if text.strip("-.") else f"x{ending}"


def _hash(text: str, length: int) -> str:
    number = int.from_bytes(sha256(text.encode()).digest(), "big")
    letters = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)
