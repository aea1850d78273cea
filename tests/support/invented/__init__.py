"""Tables of any size that are metadata only: real schemas and manifests, data files that do not exist."""
