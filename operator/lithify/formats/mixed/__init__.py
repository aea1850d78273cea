"""The adapter of Arctic's and Amoro's mixed tables: a base and a change store, each a table of Iceberg.

Rooms, each importing only those below it (import-linter has the order):

- `file_names`: what names of files say of node, kind and transaction, and names of new files.
- `key_hashes`: the nodes of rows, by their keys; `text_hashes` for texts and binaries.
- `nodes`: the tree of nodes into which the rows of a partition are divided.

The seed that docstrings name is the design document of major compaction; names of classes are Amoro's.
"""
