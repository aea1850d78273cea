"""Names of files and partitions, and ids of snapshots, checked before they become part of a path."""
