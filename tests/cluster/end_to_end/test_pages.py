"""What the pages say of objects, commands and policies, tried on the real API server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import yaml

from lithify.resources.compaction import Reason
from lithify.resources.names import API_VERSION
from support.operators.objects import catalog, compaction, lake_table, policy
from support.operators.operating import ended_after
from support.operators.scene import message
from support.operators.server import CATALOGS, COMPACTIONS, PATIENCE, TABLES, condition
from support.operators.stage import Stage
from support.pages import CURRENT, OPERATOR, README, ROOT, STARTED, Page, arguments
from support.runs import LITHIFY
from support.small_tables import SmallTable

REQUESTED = "lithify.dev/requested-at"
EXAMPLE = "/tmp/lithify-example"
"""Where the pages have the example's table."""
RUN = "orders-7-k2x9q"
"""What they call a Compaction."""
DUE = 6
"""Commits that leave more sorted runs than the table's own trigger allows."""


def ours(page: Page) -> list[dict[str, Any]]:
    """The objects of our kinds on a page."""
    return [found for found in page.manifests() if found["apiVersion"] == API_VERSION]


def kubectl_commands(page: Page) -> Iterator[list[str]]:
    """The arguments of kubectl on a page, in blocks and in sentences, without a namespace."""
    spans = [
        span for span in page.spans if span.startswith(("kubectl get ", "kubectl wait ", "kubectl annotate "))
    ]
    spans += [span for span in page.spans if span.startswith(("kubectl describe ", "kubectl explain "))]
    for command in (*page.commands("kubectl"), *spans):
        words = arguments(command)[1:]
        yield words[2:] if words[0] == "-n" else words


def small(stage: Stage, word: str, commits: int, *, name: str = "db.t") -> SmallTable:
    """A table of some commits in a warehouse of its own."""
    table = SmallTable(stage.folder / word, name).create()
    for _ in range(commits):
        table.append()
    return table


def test_the_api_server_accepts_every_object_on_the_pages(stage: Stage) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.yaml"))]
    found = [each for page in CURRENT for each in page.manifests()]
    found += [each for text in texts for each in yaml.safe_load_all(text) if each]
    items = []
    for number, each in enumerate(each for each in found if each.get("apiVersion") == API_VERSION):
        meta = each["metadata"]
        is_named = "generateName" not in meta
        items.append({**each, "metadata": {"name": f"{meta['name']}-{number}"} if is_named else meta})
    assert len(items) > 12
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    said = stage.kubectl("create", "--dry-run=server", "-f", "-", stdin=listed)

    assert len(said.splitlines()) == len(items)


def test_what_people_create_goes_on_where_the_operator_starts_nothing(stage: Stage) -> None:
    """Without a policy a table is watched and a request waits, as with a suspended table and policy."""
    bare, still = (small(stage, word, DUE) for word in ("bare", "still"))
    lake, other = stage.name("bare"), stage.name("still")
    often = {"checkIntervalSeconds": 1}
    stage.kubectl.apply(
        catalog(lake, bare.warehouse),
        lake_table(lake, catalog=lake, policy=lake, **often),
        policy(other, suspend=True),
    )
    stage.kubectl.apply(
        catalog(other, still.warehouse), lake_table(other, catalog=other, policy=other, suspend=True)
    )
    for name, told in (
        (lake, "there is no CompactionPolicy"),
        (other, "spec.suspend of the LakeTable is true"),
    ):
        needed = stage.story.until(
            TABLES, name, lambda found: condition(found, "CompactionNeeded").get("status") == "True"
        )
        assert told in message(needed, "CompactionNeeded")
    stage.kubectl("annotate", "laketables", lake, other, f"{REQUESTED}=now")

    bare.append()

    def is_seen(found: dict[str, Any]) -> bool:
        is_newest = found["status"]["observation"]["snapshotId"] == str(DUE + 1)
        return is_newest and "Requested" in found["status"]["due"]

    stage.story.until(TABLES, lake, is_seen)
    stage.story.until(TABLES, other, lambda found: "Requested" in found["status"]["due"])
    by_hand = {f"{name}-by-hand": name for name in (lake, other)}
    for run, name in by_hand.items():
        stage.server.create(COMPACTIONS, compaction(run, name, dryRun=True))
    for run in by_hand:
        stage.stands(run, Reason.PLANNED)
    assert {run["metadata"]["name"] for run in stage.story.all(COMPACTIONS)} == set(by_hand)


def test_getting_started_with_a_warehouse_of_files(stage: Stage) -> None:
    """All of its steps after the cluster, the images and the chart; the last one asks for a run."""
    table = small(stage, "lake", 2, name="shop.orders")
    objects = {
        each["kind"]: {**each, "metadata": {"name": each["metadata"]["name"]}} for each in ours(STARTED)
    }
    objects["Catalog"]["spec"] = {"warehouse": str(table.warehouse)}
    tried = [words for words in kubectl_commands(STARTED) if words[:2] != ["create", "namespace"]]
    assert [words[0] for words in tried] == ["create", "apply", "get", "get", "annotate", "get"]
    for words in tried:
        if words[0] == "apply":
            stage.kubectl.apply(*objects.values())
            stage.story.until(
                TABLES, "orders", lambda found: condition(found, "Ready").get("status") == "True"
            )
        elif "--watch" not in words:
            assert stage.kubectl(*words).strip()

    assert stage.story.wait(lambda: bool(stage.story.all(COMPACTIONS)), PATIENCE)
    (run,) = stage.story.all(COMPACTIONS)
    stage.stands(run["metadata"]["name"], Reason.NOTHING_TO_DO)


def test_the_readmes_way_to_keep_tables_compacted(alone: Stage) -> None:
    """Its commands one after the other, in another folder, until `kubectl get` prints what it shows."""
    folder = str(alone.folder / "example")
    (block,) = [each for each in README.blocks if "lithify operator" in each.text]
    steps = Page(README.path, f"```console\n{block.text}```\n").commands()
    tried = [arguments(step.replace(EXAMPLE, folder)) for step in steps]
    assert [words[:2] for words in tried] == [
        ["lithify", "demo"],
        ["kubectl", "apply"],
        ["kubectl", "apply"],
        ["lithify", "operator"],
        ["kubectl", "get"],
    ]
    demo, _, apply, operator, get = (words[1:] for words in tried)
    subprocess.run([str(LITHIFY), *demo], check=True, capture_output=True, timeout=300)
    text = "\n---\n".join(path.read_text() for path in sorted((ROOT / apply[-1]).glob("*.yaml")))
    alone.kubectl(*apply[:-1], "-", stdin=text.replace(EXAMPLE, folder))
    given = [word for word in operator[1:] if word not in {"--kubeconfig", "~/.kube/config"}]
    alone.operator = replace(alone.operator, options=given, reach=())
    with ended_after(alone.operator):
        alone.operator.restart()
        assert alone.story.wait(lambda: bool(alone.story.all(COMPACTIONS)), PATIENCE)
        (run,) = alone.story.all(COMPACTIONS)
        alone.ended(run["metadata"]["name"])
        alone.stands(run["metadata"]["name"], Reason.COMPACTED)

        head, row = (line.split() for line in alone.kubectl(*get).splitlines())
        shown = block.text.splitlines()
        assert head == shown[-2].split()
        assert (
            dict(zip(head, row, strict=True))["FILES"]
            == dict(zip(head, shown[-1].split(), strict=True))["FILES"]
        )
        alone.story.until(CATALOGS, "lake", lambda found: condition(found, "Ready").get("status") == "True")
        for words in kubectl_commands(OPERATOR):
            if words[0] not in {"apply", "annotate"}:
                assert alone.kubectl(*(word.replace(RUN, run["metadata"]["name"]) for word in words)).strip()
