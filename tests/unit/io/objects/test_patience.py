"""A look outlasts S3's own patience, so that people read what S3 did and not that a look took too long."""

from __future__ import annotations

from lithify.controller.deciding.limits import OperatorLimits
from lithify.io.objects import bucket, clients
from lithify.io.objects.s3 import S3Settings, read_settings
from lithify.resources.catalog import CatalogSpec


def test_the_default_time_out_of_a_look_is_above_what_s3_takes_to_fail() -> None:
    longest = bucket.seconds_to_failure(read_settings({}))
    assert CatalogSpec(warehouse="s3://lake/w").timeout_seconds > longest
    assert OperatorLimits().timeout_of(CatalogSpec(warehouse="s3://lake/w")) > longest


def test_what_s3_takes_to_fail_is_all_that_its_client_is_told_to_wait() -> None:
    backoff, settings = clients.LONGEST_BACKOFF, S3Settings(patience=7.0)
    waits = backoff + clients.CONNECT_SECONDS + bucket.SILENCE_SECONDS
    assert bucket.seconds_to_failure(settings) == 7.0 + waits
