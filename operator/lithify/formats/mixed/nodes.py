"""The tree of nodes into which keyed tables divide the rows of a partition, by hashes of their keys.

Called by planning and by tasks. Ids are those of Amoro's `DataTreeNode`: the nodes of a level have a mask,
which is one less than their number, and an index, which is the hash of a row's key under that mask. The id is
mask + 1 + index; that of the root is 1. Functions take one id or an array of them. Pure.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from lithify.columns.column_groups import Flags, Numbers

ROOT = 1
"""Id of the root, which has all rows of a partition."""

Ids = TypeVar("Ids", int, Numbers)

_SHIFTS = (1, 2, 4, 8, 16, 32)


def masks_of(ids: Ids) -> Ids:
    """The masks of nodes: the largest power of two that is not above the id, less one."""
    filled = ids
    for shift in _SHIFTS:
        filled = filled | filled >> shift
    return filled >> 1


def indexes_of(ids: Ids) -> Ids:
    """The indexes of nodes within their level."""
    return ids & masks_of(ids)


def ids_of(mask: int, indexes: Ids) -> Ids:
    """The ids of nodes of one level."""
    return indexes + (mask + 1)


def levels_of(ids: Numbers) -> Numbers:
    """The levels of nodes; that of the root is 0."""
    return np.bitwise_count(masks_of(ids)).astype(np.int64)


def level_of_nodes(nodes: int) -> int:
    """The level that has this number of nodes.

    Raises:
        ValueError: the number is no power of two.
    """
    if nodes < 1 or nodes & (nodes - 1):
        raise ValueError(f"{nodes} is no power of two")
    return nodes.bit_length() - 1


def parents_of(ids: Numbers) -> Numbers:
    """The parents of nodes; the root is its own."""
    masks = masks_of(ids) >> 1
    return ids_at(masks, ids)


def children_of(node: int) -> tuple[int, int]:
    """The two children of a node."""
    mask = masks_of(node)
    index = node & mask
    below = 2 * mask + 1
    return ids_of(below, index), ids_of(below, index + mask + 1)


def ids_at(masks: Numbers | int, ids: Numbers) -> Numbers:
    """The ancestors of nodes at the levels with these masks, none of which is below the node."""
    return (indexes_of(ids) & masks) + (masks + 1)


def is_ancestor_or_same(ancestors: Numbers | int, ids: Numbers | int) -> Flags:
    """Whether each node has the other node as ancestor, or is the same; `isSonOf` of Amoro."""
    above, below = np.asarray(ancestors), np.asarray(ids)
    masks = masks_of(above)
    return np.asarray((masks <= masks_of(below)) & (ids_at(masks, below) == above))


def subtrees(ids: Numbers, write_nodes: int, partitions: Numbers | None = None) -> Numbers:
    """Divides the files of partitions into tasks, as the seed says; returns the root of each file's task.

    Going down from the root of the tree, a task is the subtree of the first node that has files, or that is
    one of those that are written. So a file of an ancestor draws all of its subtree into one task, and files
    whose nodes are related are never in different tasks.

    Args:
        ids: the node of each file.
        write_nodes: the number of nodes at the level that is written, a power of two.
        partitions: numbers of the partitions of the files; None if all are of the same.
    """
    found = np.zeros_like(ids)
    groups = np.zeros_like(ids) if partitions is None else partitions
    last, levels = level_of_nodes(write_nodes), levels_of(ids)
    occupied = np.unique(np.stack([groups, ids]), axis=1)
    rest = np.arange(len(ids))
    for level in range(last + 1):
        rest = rest[found[rest] == 0]
        reached = rest[levels[rest] >= level]
        candidates = ids_at((1 << level) - 1, ids[reached])
        is_root = (
            np.full(len(reached), True)
            if level == last
            else _are_among(groups[reached], candidates, occupied)
        )
        found[reached[is_root]] = candidates[is_root]
    return found


def written_nodes(root: int, write_nodes: int) -> Numbers:
    """The nodes into which the task of a subtree writes, ascending; `write_nodes` as for `subtrees`."""
    step = masks_of(root) + 1
    return ids_of(write_nodes - 1, np.arange(root & (step - 1), write_nodes, step, dtype=np.int64))


def _are_among(groups: Numbers, ids: Numbers, occupied: Numbers) -> Flags:
    """Whether each pair of partition and node is among those that have files; `occupied` is (2, pairs)."""
    nodes, ranks = np.unique(occupied[1], return_inverse=True)
    places = np.searchsorted(nodes, ids)
    is_node = nodes[np.minimum(places, len(nodes) - 1)] == ids
    has_files = np.isin(groups * len(nodes) + places, occupied[0] * len(nodes) + ranks)
    return np.asarray(is_node & has_files)
