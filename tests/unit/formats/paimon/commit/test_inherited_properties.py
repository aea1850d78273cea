"""What snapshots hand on: the greatest sequence number, if writers keep one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.formats.paimon.commit.inherited_properties import GREATEST_SEQUENCE, inherited_properties
from lithify.formats.paimon.manifests.entries import ADD, DELETE
from support.manifests import entry


@pytest.mark.parametrize(
    ("known", "files", "carried"),
    [
        (None, [(ADD, 7)], None),
        ("41", [], "41"),
        ("41", [(ADD, 7), (ADD, 40)], "41"),
        ("41", [(ADD, 7), (ADD, 42)], "42"),
        ("41", [(DELETE, 99), (ADD, 7)], "41"),
        ("-1", [(ADD, 0)], "0"),
    ],
    ids=["none is kept", "nothing new", "older rows", "newer rows", "rows that go do not count", "the first"],
)
def test_the_greatest_sequence_is_handed_on(
    known: str | None, files: list[tuple[int, int]], carried: str | None
) -> None:
    properties = {"of": "somebody else", **({} if known is None else {GREATEST_SEQUENCE: known})}
    entries = [replace(entry("f", max_sequence=sequence), kind=kind) for kind, sequence in files]
    expected = {} if carried is None else {GREATEST_SEQUENCE: carried}
    assert inherited_properties(properties, entries) == expected


def test_snapshots_without_properties_have_nothing_to_hand_on() -> None:
    assert inherited_properties(None, [entry("f", max_sequence=3)]) == {}
