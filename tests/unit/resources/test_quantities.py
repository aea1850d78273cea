"""Sizes are read as Kubernetes reads them, in bytes, and shown as they were written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity
from pydantic import ValidationError

from lithify.controller.launching.spark_conf import conf_problem
from lithify.resources.modelling import plain, read
from lithify.resources.quantities import LARGEST, quantity_bytes
from lithify.resources.spark_template import SparkTemplate


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("1", 1), ("512", 512), ("+7", 7), ("007", 7)),
        *(("1Ki", 1 << 10), ("384Mi", 384 << 20), ("2Gi", 2 << 30), ("3Ti", 3 << 40), ("1Pi", 1 << 50)),
        *(("1Ei", 1 << 60), ("1k", 1000), ("500M", 500_000_000), ("2G", 2_000_000_000), ("2T", 2 * 10**12)),
        *(
            ("1P", 10**15),
            ("1E", 10**18),
            ("1.5Gi", 3 << 29),
            ("0.5Gi", 1 << 29),
            (".5Ki", 512),
            ("1.Ki", 1024),
        ),
        *(("1e9", 10**9), ("1E9", 10**9), ("1.5e+3", 1500), ("15000e-1", 1500), ("1E2", 100)),
        *(("1m", 1), ("1500m", 2), ("1n", 1), ("1u", 1), ("0.1", 1), ("1.0000001Ki", 1025)),
        *(("9223372036854775807", LARGEST), ("9223372036854775808", LARGEST), ("99999Ei", LARGEST)),
        ("9e99", LARGEST),
    ],
)
def test_a_size_in_bytes(text: str, size: int) -> None:
    assert quantity_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "Mi",
            "0",
            "0.0",
            "0Gi",
            "-1",
            "1 Mi ",
            "1Mb",
            "1MB",
            "1K",
            "1ki",
            "1Gib",
            "1.1.1",
            ".",
            "1e",
            "e9",
        ),
        *("1e1000", "1\n", "１", "1" * 33, "NaN", "inf", "1_000", "0x10", "1Ki2"),
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        quantity_bytes(text)
    with pytest.raises(ValidationError):
        read(SparkTemplate, {"taskMemory": text})


amounts = st.from_regex(r"[0-9]{0,4}(\.[0-9]{0,4})?", fullmatch=True).filter(
    lambda text: re.search("[1-9]", text)
)
units = st.sampled_from(["", *(f"{unit}i" for unit in "KMGTPE"), *"numkMGTPE"])


@given(amounts, units)
def test_as_the_client_of_kubernetes_reads_it(amount: str, unit: str) -> None:
    exact = parse_quantity(f"0{amount}0{unit}" if "." in amount else f"{amount}{unit}")
    found = quantity_bytes(amount + unit)
    assert found == LARGEST if exact > LARGEST else exact <= found < exact + 1


@pytest.mark.parametrize(
    ("written", "kept"), [("1.5Gi", "1.5Gi"), ("2G", "2G"), ("1e9", "1e9"), (2147483648, "2147483648")]
)
def test_a_size_is_kept_as_it_was_written(written: str | int, kept: str) -> None:
    spark = read(SparkTemplate, {"taskMemory": written, "executor": {"memory": written}})
    assert plain(spark)["taskMemory"] == kept
    assert f"spec.spark.executor.memory is {kept}," in (conf_problem(spark) or "")
