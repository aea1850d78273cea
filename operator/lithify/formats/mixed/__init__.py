"""The adapter of Arctic's and Amoro's mixed tables: a base and a change store, each a table of Iceberg.

Rooms, each importing only those below it (import-linter has the order):

- `adapter`: what runs call. `observing`: what the operator's workers call.
- `maintaining`: what maintenance calls. `snapshot_expiry`: which snapshots of both stores may expire.
- `planning`, `tasks`, `line_commit`, `expiring`, `inspecting`: the work of a run, from plan to commit.
- `due`, `keeping`, `late_files`, `merge_on_read`, `objects`, `pinning`, `expiry_commit`: their parts.
- `file_columns`, `partition_sums`, `view`, `needed_deletes`: files of both stores as columns, and their sums.
- `stores`: opens both stores, and tells why a table is refused.
- `triggers`: whether partitions are due, and why, by their `figures` and by `trigger_options`.
- `units`, `dividing`, `change_expiry`, `details`: values of plans; rows by node; which changes are consumed.
- `stored_line`: reads the optimized line, in whichever form a table has it.
- `line_files`, `line_properties`: its two forms, in Puffin files and in a table property.
- `sequences`: how many changes are merged at once, where there are too many.
- `optimized_line`: up to which sequence number the base store has the changes of each partition.
- `partition_keys`: the names of partitions in it.
- `file_names`: what names of files say of node, kind and transaction, and names of new files.
- `key_hashes`: the nodes of rows, by their keys; `text_hashes` for texts and binaries.
- `nodes`: the tree of nodes into which the rows of a partition are divided.

The seed that docstrings name is the design document of major compaction; names of classes are Amoro's.
"""
