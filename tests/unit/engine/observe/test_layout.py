"""A layout identifies groups and files, or cannot be made."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from support.cases import case
from unit.engine.observe.lake import FILES, LAYOUT


@pytest.mark.parametrize(
    "changes",
    [
        case({"group": ()}, id="no column identifies a group"),
        case({"file": ("name",)}, id="files are identified without their group"),
        case({"group": ("size",), "file": ("size", "name")}, id="a column that does not exist"),
        case(
            {"files": FILES.set(0, pa.field("region", pa.float64())), "group": ("region",)},
            id="groups that are numbers with fractions",
        ),
    ],
)
def test_layout_that_identifies_no_groups_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError)):
        replace(LAYOUT, **changes)  # type: ignore[arg-type]  # some are wrong on purpose


def test_layout_has_a_frame_without_files() -> None:
    assert (len(LAYOUT.no_files), LAYOUT.no_files.schema) == (0, FILES)
