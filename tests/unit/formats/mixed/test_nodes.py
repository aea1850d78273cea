"""The tree of nodes: ids as Amoro counts them, and partitions divided into tasks as the seed says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.mixed.nodes import (
    ROOT,
    children_of,
    ids_of,
    indexes_of,
    is_ancestor_or_same,
    level_of_nodes,
    levels_of,
    masks_of,
    parents_of,
    subtrees,
    written_nodes,
)

IDS = st.integers(1, (1 << 62) - 1) | st.integers(0, 61).map(lambda bits: 1 << bits)
SMALL = st.integers(1, 63)


@pytest.mark.parametrize(
    ("node", "mask", "index"),
    [
        (1, 0, 0),
        (2, 1, 0),
        (3, 1, 1),
        (4, 3, 0),
        (7, 3, 3),
        (8, 7, 0),
        ((1 << 62) - 1, (1 << 61) - 1, (1 << 61) - 1),
    ],
)
def test_ids_are_masks_and_indexes(node: int, mask: int, index: int) -> None:
    assert (masks_of(node), indexes_of(node)) == (mask, index)
    assert ids_of(mask, index) == node


@given(st.lists(IDS, min_size=1, max_size=20))
def test_arrays_are_as_single_ids(ids: list[int]) -> None:
    nodes = np.array(ids, np.int64)

    assert masks_of(nodes).tolist() == [(1 << (node.bit_length() - 1)) - 1 for node in ids]
    assert indexes_of(nodes).tolist() == [indexes_of(node) for node in ids]
    assert levels_of(nodes).tolist() == [node.bit_length() - 1 for node in ids]


@given(st.integers(1, (1 << 61) - 1))
def test_children_have_the_node_as_parent(node: int) -> None:
    children = np.array(children_of(node))

    assert parents_of(children).tolist() == [node, node]
    assert is_ancestor_or_same(node, children).all()
    assert not is_ancestor_or_same(children, node).any()
    assert not is_ancestor_or_same(children[0], children[1])


def test_rows_of_a_node_are_those_of_its_children() -> None:
    assert children_of(ROOT) == (2, 3)
    assert children_of(2) == (4, 6), "hashes 0 and 2 are even"
    assert children_of(3) == (5, 7)


def test_the_root_is_its_own_parent() -> None:
    assert parents_of(np.array([ROOT])).tolist() == [ROOT]


@given(IDS, st.integers(0, (1 << 62) - 1))
def test_a_node_is_an_ancestor_if_it_has_all_rows_of_the_other(node: int, hashed: int) -> None:
    mask = masks_of(node)
    deeper = ids_of((1 << 61) - 1, hashed & ((1 << 61) - 1))

    assert bool(is_ancestor_or_same(node, deeper)) == (mask < 1 << 61 and hashed & mask == indexes_of(node))


@given(SMALL, SMALL)
def test_ancestors_are_reached_by_parents(one: int, other: int) -> None:
    above, node = {other}, other
    while node != ROOT:
        node = int(parents_of(np.array([node]))[0])
        above.add(node)

    assert bool(is_ancestor_or_same(one, other)) == (one in above)


@pytest.mark.parametrize("nodes", [0, 3, 6, -1])
def test_only_powers_of_two_are_levels(nodes: int) -> None:
    with pytest.raises(ValueError):
        level_of_nodes(nodes)


def divided(files: Sequence[int], write_nodes: int, node: int = ROOT) -> dict[int, int]:
    """The root of the task of each node that has files, by descending one node at a time."""
    inside = [file for file in files if is_ancestor_or_same(node, file)]
    if not inside:
        return {}
    if node in inside or masks_of(node) + 1 == write_nodes:
        return dict.fromkeys(inside, node)
    left, right = children_of(node)
    return divided(inside, write_nodes, left) | divided(inside, write_nodes, right)


@given(st.lists(SMALL, max_size=12), st.integers(0, 5))
def test_tasks_are_those_of_a_descent_from_the_root(files: list[int], level: int) -> None:
    expected = divided(files, 1 << level)

    found = subtrees(np.array(files, np.int64), 1 << level)

    assert found.tolist() == [expected[file] for file in files]


@given(st.lists(st.tuples(st.integers(0, 3), SMALL), max_size=20), st.integers(0, 4))
def test_partitions_are_divided_on_their_own(files: list[tuple[int, int]], level: int) -> None:
    partitions = np.array([partition for partition, _ in files], np.int64)
    ids = np.array([node for _, node in files], np.int64)

    found = subtrees(ids, 1 << level, partitions)

    for partition in set(partitions.tolist()):
        alone = partitions == partition
        assert found[alone].tolist() == subtrees(ids[alone], 1 << level).tolist()


@given(st.lists(SMALL, min_size=2, max_size=12), st.integers(0, 5))
def test_related_files_are_in_one_task(files: list[int], level: int) -> None:
    roots = subtrees(np.array(files, np.int64), 1 << level).tolist()

    for one, its_root in zip(files, roots, strict=True):
        for other, other_root in zip(files, roots, strict=True):
            if is_ancestor_or_same(one, other):
                assert its_root == other_root


def test_the_example_of_the_seed_has_two_tasks() -> None:
    """Base files in the two nodes of level 1, changes below: each task writes two of the four nodes."""
    files = np.array([2, 4, 6, 3, 5, 7])

    assert subtrees(files, 4).tolist() == [2, 2, 2, 3, 3, 3]
    assert written_nodes(2, 4).tolist() == [4, 6]
    assert written_nodes(3, 4).tolist() == [5, 7]


def test_a_file_of_the_root_makes_one_task_of_all() -> None:
    assert subtrees(np.array([4, 1, 7]), 4).tolist() == [1, 1, 1]
    assert written_nodes(ROOT, 4).tolist() == [4, 5, 6, 7]


def test_files_below_the_written_level_are_joined_in_it() -> None:
    assert subtrees(np.array([8, 12, 9]), 4).tolist() == [4, 4, 5]
    assert written_nodes(5, 4).tolist() == [5]


@given(SMALL, st.integers(0, 5))
def test_the_written_nodes_are_those_of_the_subtree(root: int, level: int) -> None:
    nodes = np.arange(1 << level, 2 << level)
    expected = nodes[is_ancestor_or_same(root, nodes)].tolist()

    if masks_of(root) < 1 << level:
        assert written_nodes(root, 1 << level).tolist() == expected
