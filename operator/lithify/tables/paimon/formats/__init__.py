"""The formats of data files: one package each, behind the two protocols of `model`; `registry` chooses.

Called by `reader`, `writer` and the job's planner. What a format knows is bytes and columns; keys, schemas,
levels and manifests are its callers'.
"""
