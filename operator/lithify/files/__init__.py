"""The formats of data files: one package each, behind the two protocols of `model`; `registry` chooses.

Used by the adapters of table formats. This package knows bytes and columns only; keys, schemas, levels and
manifests belong to the callers.
"""
