"""Renders the table of properties as Markdown: `python -m lithify.formats.iceberg.support.page`."""

from __future__ import annotations

import sys

from lithify.engine.support.page import cells_of, option_tables
from lithify.engine.support.rules import Support
from lithify.formats.iceberg.support.rules import load

_INTRO = """\
Users read this page to find out whether Lithify can compact a table, and why not. Before any work, Lithify
checks a table's format version (1 to 3), its columns and its properties, and names everything that it
refuses. Refused are also encrypted tables, columns of the types variant, geometry, geography and unknown, and
catalogs whose server wants to sign each request for a file. Properties that are not on this page are users'
notes, except those that begin with `write.`, `commit.`, `compatibility.` or `encryption.`: these are refused.
`*` stands for any characters of a name, `<n>` for a whole number from 1 on.

Data and delete files may be Parquet, ORC or Avro. A group of files is left out, and named, if one of them is
an ORC file with a column of the type uniontype, or with a timestamp that has a time zone where the table's
has none, or the reverse: Hive and Spark write moments into ORC as local times.

Others may write while a run rewrites files. Position deletes and deletion vectors that land on these files
meanwhile are carried over: their rows are deleted in the new files, in the same snapshot. Equality deletes
apply to new files as they did to old ones. Files that others remove or replace are planned again. A DELETE,
UPDATE or MERGE of Spark that began before the run's commit, and names a replaced file, fails with missing
data files, as beside any compaction: try it again.
"""

_HEADS = {
    Support.SUPPORTED: ("Property", "Accepted values", "In a compaction"),
    Support.REFUSED: ("Property", "Accepted only as", "Why"),
    Support.HARMLESS: ("Property", "Why it does not matter"),
}


def render() -> str:
    """The page."""
    made = "Made from operator/lithify/formats/iceberg/support/properties.yaml by `make docs`."
    parts = ["# What Lithify supports of Apache Iceberg\n", f"<!-- {made} -->\n", _INTRO]
    return "\n".join([*parts, *option_tables(load(), "properties", _HEADS, cells_of)])


if __name__ == "__main__":
    sys.stdout.write(render())
