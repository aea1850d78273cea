"""The adapter of Apache Iceberg tables, versions 1 to 3.

Rooms, each importing only those below it (import-linter has the order):

- `adapter`, `observer`: what `formats.registry` opens; thin.
- `maintaining`: what `formats.registry` opens for maintenance; thin.
- `importing`: settings of Spark's procedures and of Amoro, as ours; opens no table.
- `compaction`: one run: the pinned view, plans and tasks, and steps with their journal entries.
- `canary`: branches as copies of a table, and their rows as pyiceberg reads them.
- `maintenance`: which snapshots expire, the commit without them, and the deletion of what only they need.
- `attempts`: journals of attempts, what became of them, and what they left behind.
- `commit`: the rules of conflict; the REPLACE snapshot, published through the catalog.
- `rewriting`: what one task does: read, leave out deleted rows, sort or copy, write.
- `planning`: which files are rewritten together; pure.
- `deletes`: positions, vectors (Puffin) and equality deletes, as filters of rows.
- `data_files`: schemas by field id, and the rows of data files.
- `manifests`: manifests and their lists as columns, read and written; the delete index.
- `table`: table metadata as a frozen view; the files of a table.
- `catalog`: catalogs by pyiceberg's clients.
- `support`: what this release refuses, by name.
- `model`: the values that these rooms exchange. Imports nothing of them.

Only `catalog`, `table` and `canary` import pyiceberg.
"""

from lithify.files.without_pandas import leave_out_pandas

leave_out_pandas()
