"""Which formats there are, and which one a data file has.

Called by `evolution` before any work, and by the rest of this package. Imports nothing, because metadata work
shall not load what reads data.
"""

FORMATS = ("parquet", "orc", "avro")

GATHERED_SHARE = {"parquet": 1.0, "orc": 0.5, "avro": 1.0}
"""How much of what may be gathered for a row group each format gets: PyArrow copies it to encode ORC."""


def format_of(name: str) -> str:
    """The end of a file's name without the dot, for example `parquet`."""
    return name.rpartition(".")[2]
