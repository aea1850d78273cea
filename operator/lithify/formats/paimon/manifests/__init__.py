"""Snapshots, manifest lists, manifests and their entries: read and written as bytes and as columns."""
