"""What is remembered of a Paimon table's snapshot comes back from its JSON as it was, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.formats.paimon.observing.cached_state import LAYOUT, PaimonDetails, Removal, SnapshotHistory
from support.cases import case

DETAILS = PaimonDetails(
    index_types=frozenset({"HASH", "DELETION_VECTORS"}),
    history=SnapshotHistory(4, 1_767_225_600_000, {5: Removal(100, 8), 7: Removal(2**40, 9, "job")}),
    appended=(5, 7),
    vector_files=frozenset({((b"\x00\x01", 2), "index-1"), ((b"", 0), "index-2")}),
)


@pytest.mark.parametrize(
    "details", [case(DETAILS, id="of a snapshot"), case(LAYOUT.nothing, id="of a table without snapshots")]
)
def test_details_come_back_as_they_were(details: PaimonDetails) -> None:
    text = json.dumps(LAYOUT.details.to_json(details))
    assert LAYOUT.details.parse(json.loads(text)) == details


@pytest.mark.parametrize(
    "changes",
    [
        case({"history": 7}, id="a history of another form"),
        case({"history": [4]}, id="a history with few fields"),
        case({"vectors": [["not hexadecimal", 1, "index"]]}, id="a partition that is none"),
        case({"appended": None}, id="no list"),
    ],
)
def test_details_of_another_form_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        LAYOUT.details.parse({**LAYOUT.details.to_json(DETAILS), **changes})
