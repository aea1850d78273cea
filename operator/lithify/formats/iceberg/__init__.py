"""The adapter of Apache Iceberg tables, versions 1 to 3.

Rooms, each importing only those below it (import-linter has the order):

- `adapter`, `observer`: what `formats.registry` opens; thin.
- `step`, `commit`: a run's steps; the rules of conflict; the REPLACE snapshot, published through the catalog.
- `rewriting`: what one task does: read, leave out deleted rows, sort or copy, write.
- `deletes`: positions, vectors (Puffin) and equality deletes, as filters of rows.
- `planning`: which files are rewritten together; pure.
- `manifests`: manifests and their lists as columns, read and written; the delete index.
- `catalog`, `table`: catalogs by pyiceberg's clients; table metadata; the file system of a table.
- `support`: what this release refuses, by name.
- `model`: the values that these rooms exchange. Imports nothing of them.

Only `catalog`, `table` and the modules that they name import pyiceberg.
"""
