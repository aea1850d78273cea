"""Texts of users in a pod's manifest, after the kubelet's own code has expanded variables in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.expansion.program import Container, Expanded, expand
from lithify.contract.order import Instructions, read_instructions
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.resources.catalog import CatalogSpec
from lithify.resources.spark_template import DriverPod, SparkTemplate
from support.launching.orders import order

STOLEN = "value-of-a-secret"
SECRET = {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
TEMPLATE = {"spec": {"containers": [{"name": "lithify", "env": [SECRET]}]}}
SPARK = SparkTemplate(image="lithify:1", driver=DriverPod(pod_template=TEMPLATE))
KNOWN = {"DB_PASSWORD": STOLEN, "LITHIFY_POD_IP": STOLEN, "": STOLEN}
REFERENCES = (
    "$(DB_PASSWORD)",
    "$$(DB_PASSWORD)",
    "$$$(DB_PASSWORD)",
    "$()",
    "$(LITHIFY_SECRETS)",
    "$",
    "$$",
    "\\$(",
)
PIECES = st.sampled_from([*REFERENCES, "DB_PASSWORD", "(", ")", "\\", '"', "é", "\N{GRINNING FACE}", " "])
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("".join)


def pod_of(text: str) -> dict[str, Any]:
    """A driver's pod with a text wherever somebody who writes tables, Compactions or Catalogs may put one."""
    return driver_pod(
        order(
            catalog=CatalogSpec(warehouse=f"/{text}", options={text: text}),
            name=f"db.{text}",
            overrides={text: text},
            partitions=({text: text},),
            spark=SPARK,
        ),
        PodSettings(),
    )


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


def order_in(container: Expanded) -> Instructions:
    return read_instructions(container.variables["LITHIFY_ORDER"])


def texts_in(value: object) -> Iterator[str]:
    """All texts of a manifest, keys included."""
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield from (name, *texts_in(inner))
        case list():
            for inner in value:
                yield from texts_in(inner)


def test_references_are_expanded_as_the_kubelet_does() -> None:
    """The way in which the partition of a Compaction once read a Secret of the driver's environment."""
    env = [{"name": "A", "value": "$$$(DB_PASSWORD) $$(DB_PASSWORD) $(NONE)"}, {"name": "B", "value": "$(A)"}]
    container = {"env": env, "command": ["$(B)"], "args": ["$$$(DB_PASSWORD)"]}
    (found,) = expand([Container(container, KNOWN)])
    value = f"${STOLEN} $(DB_PASSWORD) $(NONE)"
    assert found == Expanded({"A": value, "B": value}, [value, f"${STOLEN}"])


@pytest.mark.parametrize("text", REFERENCES)
def test_no_text_of_a_pod_refers_to_a_variable(text: str) -> None:
    assert [found for found in texts_in(pod_of(text)) if "$" in found] == []


@settings(deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=20))
def test_driver_gets_texts_of_users_as_they_were_written(texts: list[str]) -> None:
    containers = [container_of(pod_of(text)) for text in texts]
    found = expand([Container(one, KNOWN) for one in containers])
    for text, written, expanded in zip(texts, containers, found, strict=True):
        told = order_in(expanded)
        assert told.selection.partitions == ({text: text},)
        assert (told.table.name, told.table.warehouse) == (f"db.{text}", f"/{text}")
        assert told.table.catalog_options[text] == text
        assert told.table.overrides == {text: text}
        assert expanded.command == [*written["command"], *written["args"]]
        assert not any(STOLEN in value for value in expanded.variables.values())
