"""The known formats, and the format of a data file.

Called by adapters before any work, and by the rest of this package. Imports nothing, because metadata work
must not load the libraries that read data.
"""

FORMATS = ("parquet", "orc", "avro")

GATHERED_SHARE = {"parquet": 1.0, "orc": 0.5, "avro": 1.0}
"""Share of the row group buffer that each format may use: PyArrow copies the rows to encode ORC."""


def format_of(name: str) -> str:
    """The extension of a file name without the dot, for example `parquet`."""
    return name.rpartition(".")[2]
