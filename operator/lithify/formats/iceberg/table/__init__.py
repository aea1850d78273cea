"""An open Iceberg table: its metadata as a frozen view, its files, and who it is.

`opening` makes an `IcebergTable` from an address. Metadata is kept as the JSON that was read, so that what
this release does not know is carried when a new version is written.
"""
