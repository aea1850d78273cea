"""The example policies that ask for signed images: they mean the images that the chart installs."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

import pytest
import yaml

from infrastructure.chart.rendering import CHART

REPOSITORY = CHART.parents[1]
EXAMPLES = REPOSITORY / "examples" / "signed-images"
BILL = "https://cyclonedx.org/bom"
"""What `cosign attest --type cyclonedx` calls a bill of materials."""
TAGS = (":0.1.0", "@sha256:" + "a" * 64)


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def kyverno() -> dict[str, Any]:
    (policy,) = documents("kyverno.yaml")
    (rule,) = policy["spec"]["rules"]
    (verification,) = rule["verifyImages"]
    return dict(verification)


def patterns() -> dict[str, list[str]]:
    """Image patterns by policy."""
    found = {"kyverno": kyverno()["imageReferences"]}
    for policy in documents("policy-controller.yaml"):
        found[policy["metadata"]["name"]] = [image["glob"] for image in policy["spec"]["images"]]
    return found


@pytest.mark.parametrize("policy", patterns())
def test_they_match_the_images_of_the_chart_and_no_others(policy: str) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    images = [values["image"]["repository"], values["spark"]["image"]["repository"]]
    for image in (image + tag for image in images for tag in TAGS):
        assert any(fnmatchcase(image, pattern) for pattern in patterns()[policy])
    assert not any(fnmatchcase("ghcr.io/other/operator:1", pattern) for pattern in patterns()[policy])


def test_kyverno_enforces_signature_and_bill() -> None:
    verification = kyverno()
    (bill,) = verification["attestations"]
    assert bill["type"] == BILL
    assert bill["attestors"] == verification["attestors"]
    assert verification["failureAction"] == "Enforce"
    assert verification["required"]


def test_policy_controller_wants_both() -> None:
    """One authority each: of several authorities in a policy any would do."""
    signature, bill = documents("policy-controller.yaml")
    (signed,) = signature["spec"]["authorities"]
    (attested,) = bill["spec"]["authorities"]
    assert "attestations" not in signed
    assert [it["predicateType"] for it in attested["attestations"]] == [BILL]
    assert signed["key"] == attested["key"]


def test_the_documented_commands_attach_what_the_policies_ask_for() -> None:
    text = (REPOSITORY / "docs" / "installing.md").read_text()
    assert re.search(
        r"^\$ cosign attest .*--type cyclonedx --predicate operator\.cdx\.json ", text, re.MULTILINE
    )
    assert re.search(r"^\$ cosign verify-attestation .*--type cyclonedx ", text, re.MULTILINE)
