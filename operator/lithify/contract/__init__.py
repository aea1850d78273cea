"""The messages between operator and driver: the order for an attempt, its progress, its outcome.

Used by `controller` on one side and `engine.application` on the other. Plain values and their JSON; no I/O.
"""
