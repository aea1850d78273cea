"""kopf is told to keep nothing of objects: it neither copies what it need not, nor writes."""

from __future__ import annotations

import kopf

from lithify.controller.cluster.events import settings


def test_nothing_of_an_object_is_copied_for_comparison() -> None:
    storage = settings().persistence.diffbase_storage
    body = kopf.Body({"metadata": {"annotations": {"a": "b"}}, "spec": {"c": "d"}})
    assert storage.fetch(body=body) is None
    assert storage.build(body=body) == {}
    patch = kopf.Patch()
    storage.store(body=body, patch=patch, essence=storage.build(body=body))
    assert not patch, "nothing would be written"
