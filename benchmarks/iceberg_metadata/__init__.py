"""How long Iceberg's metadata takes: planning of many files, and manifests that are written again."""
