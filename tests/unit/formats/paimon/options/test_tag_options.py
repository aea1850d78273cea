"""Options of tags: defaults, names in every spelling, values that Paimon refuses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.tag_options import TagOptions, TagTime, read_tag_options

MADE = {"tag.automatic-creation": "process-time"}


@pytest.mark.parametrize("mode", ["none", "batch", "BATCH"])
def test_no_tags_are_created_unless_options_ask(mode: str) -> None:
    assert read_tag_options({}) == TagOptions(None, expires=True)
    assert read_tag_options({"tag.automatic-creation": mode}).creation is None


def test_defaults_are_those_of_paimon() -> None:
    creation = read_tag_options(MADE).creation
    assert creation is not None
    assert (creation.time, creation.period, creation.delay) == (
        TagTime.PROCESS_TIME,
        timedelta(days=1),
        timedelta(),
    )
    assert (creation.most, creation.kept, creation.format) == (None, None, "%Y-%m-%d")


@pytest.mark.parametrize("spelling", ["without_dashes", "WITHOUT_DASHES", "without-dashes"])
def test_names_are_read_in_every_spelling(spelling: str) -> None:
    creation = read_tag_options({**MADE, "tag.period-formatter": spelling}).creation
    assert creation is not None
    assert creation.format == "%Y%m%d"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tag.automatic-creation": "sometimes"}, "tag.automatic-creation"),
        ({**MADE, "tag.creation-period": "weekly"}, "tag.creation-period"),
        ({**MADE, "tag.creation-delay": "1 d"}, "tag.creation-delay"),
        ({**MADE, "tag.creation-period-duration": "0 s"}, "tag.creation-period-duration"),
        ({**MADE, "tag.num-retained-max": "few"}, "tag.num-retained-max"),
        ({**MADE, "tag.num-retained-max": "-1"}, "tag.num-retained-max"),
        ({**MADE, "tag.default-time-retained": "long"}, "tag.default-time-retained"),
        ({**MADE, "sink.process-time-zone": "Moon"}, "sink.process-time-zone"),
    ],
    ids=["mode", "period", "delay", "duration", "number", "all", "time", "zone"],
)
def test_values_that_are_not_known_are_refused_by_name(options: Mapping[str, str], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        read_tag_options(options)
