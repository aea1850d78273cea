"""What the reference adapter declares: a block of figures, a trigger, and where its catalogs are.

Loaded by `formats.declared` without this package. Imports nothing but the words.
"""

from __future__ import annotations

from lithify.formats.declarations import (
    FILESYSTEM,
    Block,
    Combine,
    Figure,
    Format,
    GroupFigure,
    Kind,
    Metric,
    Total,
    Trigger,
    TriggerGroup,
)

_NAME = "memory"
"""Of the block of figures, and of the group of triggers."""

_ROWS = Figure(
    "maxRows",
    Kind.COUNT,
    "Most rows in a group.",
    metric=Metric(
        "max_group_rows",
        "rows of the group with the most",
        (Total("max_group_rows", "rows of the group with the most, over all tables", Combine.LARGEST),),
    ),
    column="Group-Rows",
)
_GROUP = Figure("maxRowsGroup", Kind.GROUP, "The group with most rows.")
_SMALL_FILE_SIZE = Trigger(
    "smallFileSize", "Files below this size are joined (small-file-size).", "small-file-size"
)

FORMAT = Format(
    metastores=(FILESYSTEM,),
    blocks=(
        Block(
            name=_NAME,
            tables="reference tables",
            description="Figures of reference tables.",
            figures=(_ROWS, _GROUP),
            group_figures=(GroupFigure("rows_per_file", "row per file", "rows per file"),),
        ),
    ),
    triggers=(TriggerGroup(_NAME, "Reference tables.", (_SMALL_FILE_SIZE,)),),
)
