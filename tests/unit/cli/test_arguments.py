"""What the texts of options mean, and that texts without a meaning are refused by the option's name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest

from lithify.cli.arguments import TableArguments, pairs, size, table_arguments, table_options
from lithify.errors import InvalidOption
from lithify.formats.protocol.address import Selection, TableAddress
from support.cases import case


@click.command()
@table_options
@click.option("--other")
def command(other: str | None, **options: Any) -> TableArguments:
    found = table_arguments(options)
    assert options == {}, "an option was left over"
    return found


def understood(*words: str) -> TableArguments:
    """What a command with these options, besides the two that must be there, is given."""
    found = command(["--warehouse", "/w", "--table", "db.t", *words], standalone_mode=False)
    assert isinstance(found, TableArguments)
    return found


def test_everything_has_a_default_but_the_table() -> None:
    assert understood() == TableArguments(TableAddress("/w", "db.t"), Selection())


@pytest.mark.parametrize("words", [["--warehouse", "/w"], ["--table", "db.t"], []])
def test_table_must_be_named(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        command(words, standalone_mode=False)


class TestPairs:
    @pytest.mark.parametrize("option", ["--option", "--catalog-option"])
    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            case([], {}, id="none"),
            case(["a=1"], {"a": "1"}, id="one"),
            case(["a=1", "b.c=2"], {"a": "1", "b.c": "2"}, id="repeated"),
            case(["a=1", "a=2"], {"a": "2"}, id="the last one counts"),
            case(["a=x=y=="], {"a": "x=y=="}, id="equals signs in the value"),
            case(["uri=http://h:1/?q=1&r=2"], {"uri": "http://h:1/?q=1&r=2"}, id="an address"),
            case(["a="], {"a": ""}, id="an empty value"),
            case([" a = 1 mb "], {"a": "1 mb"}, id="spaces around"),
            case(["a=1,b=2"], {"a": "1,b=2"}, id="a comma is part of the value"),
            case(["a=%2C"], {"a": "%2C"}, id="nothing is unescaped"),
        ],
    )
    def test_each_option_gets_the_pairs_of_its_own_flag(
        self, option: str, texts: list[str], expected: dict[str, str]
    ) -> None:
        address = understood(*(word for text in texts for word in (option, text))).address
        given, other = address.overrides, address.catalog_options
        assert (given, other) == ((expected, {}) if option == "--option" else ({}, expected))

    def test_both_kinds_at_once(self) -> None:
        address = understood("--catalog-option", "metastore=rest", "--option", "num-levels=3").address
        assert (address.catalog_options, address.overrides) == ({"metastore": "rest"}, {"num-levels": "3"})

    @pytest.mark.parametrize("option", ["--option", "--catalog-option", "--partition"])
    @pytest.mark.parametrize("text", ["", " ", "a", "=1", " =1", "="])
    def test_texts_that_are_no_pairs_are_refused(self, option: str, text: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            understood(option, "fine=1", option, text)
        assert caught.value.option == option

    def test_are_named_by_whoever_asks(self) -> None:
        assert pairs("--spark-conf", ["spark.ui.port=1"]) == {"spark.ui.port": "1"}
        with pytest.raises(InvalidOption) as caught:
            pairs("--spark-conf", ["spark.ui.port"])
        assert caught.value.option == "--spark-conf"


class TestPartitions:
    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            case([], (), id="all"),
            case(["dt=2026-01-01"], ({"dt": "2026-01-01"},), id="one column"),
            case(["dt=2026-01-01,hr=12"], ({"dt": "2026-01-01", "hr": "12"},), id="two columns"),
            case(["dt=2026-01-01/hr=12"], ({"dt": "2026-01-01", "hr": "12"},), id="a path"),
            case(["/dt=1/hr=12/"], ({"dt": "1", "hr": "12"},), id="a path with slashes around"),
            case(["dt=1", "dt=2"], ({"dt": "1"}, {"dt": "2"}), id="repeated: any of them"),
            case(["dt=1", "hr=2"], ({"dt": "1"}, {"hr": "2"}), id="repeated with another column"),
            case(["dt=a=b"], ({"dt": "a=b"},), id="an equals sign in the value"),
            case(["dt=a%2Fb%3Dc%2Cd%20e"], ({"dt": "a/b=c,d e"},), id="escapes"),
            case(["dt=100%25"], ({"dt": "100%"},), id="an escaped percent sign"),
            case(["dt=a+b"], ({"dt": "a+b"},), id="a plus is a plus"),
            case(["a%3Ab=1/c=2"], ({"a:b": "1", "c": "2"},), id="a column as a path writes it"),
            case(["dt=a,b/hr=1"], ({"dt": "a,b", "hr": "1"},), id="a comma in a path"),
            case(["dt="], ({"dt": ""},), id="an empty value"),
            case([" dt = 1 , hr = 2 "], ({"dt": "1", "hr": "2"},), id="spaces around"),
            case(["dt=__DEFAULT_PARTITION__"], ({"dt": "__DEFAULT_PARTITION__"},), id="null"),
        ],
    )
    def test_are_columns_with_values(self, texts: list[str], expected: tuple[dict[str, str], ...]) -> None:
        words = [word for text in texts for word in ("--partition", text)]
        assert understood(*words).selection == Selection(partitions=expected)

    @pytest.mark.parametrize(
        "text",
        [
            case("2026-01-01", id="a value only"),
            case("dt=1,12", id="the second is a value only"),
            case("dt=1,", id="a comma at the end"),
            case("dt=1//hr=2", id="two slashes"),
            case("/", id="a slash only"),
            case("dt=1,dt=2", id="a column twice"),
        ],
    )
    def test_texts_that_are_no_partitions_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            understood("--partition", text)
        assert caught.value.option == "--partition"


class TestBuckets:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("0", {0}),
            ("7", {7}),
            ("0,2", {0, 2}),
            ("0-3,7", {0, 1, 2, 3, 7}),
            ("3-3", {3}),
            ("7,0-3,2-4", {0, 1, 2, 3, 4, 7}),
            (" 1 , 4-5 ", {1, 4, 5}),
            ("007", {7}),
            ("999999999", {999_999_999}),
        ],
    )
    def test_are_numbers_and_ranges(self, text: str, expected: set[int]) -> None:
        assert understood("--bucket", text).selection == Selection(buckets=frozenset(expected))

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                " ",
                ",",
                "1,",
                "a",
                "0-",
                "-3",
                "-1",
                "5-3",
                "1-2-3",
                "0..3",
                "1.5",
                "0x1",
                "1 2",
                "1 - 2",
            ),
            *("²", "٣", "१-२", "+1", "1_0"),  # digits, but not of ours
            case("0-999999999", id="more buckets than memory"),
            case("1" * 5000, id="a number without end"),
        ],
    )
    def test_texts_that_are_no_buckets_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            understood("--bucket", text)
        assert caught.value.option == "--bucket"


class TestTimeZone:
    @pytest.mark.parametrize("name", ["Europe/Berlin", "UTC", "America/Argentina/Ushuaia"])
    def test_the_time_zone_is_that_of_the_clock_and_the_address(self, name: str) -> None:
        arguments = understood("--time-zone", name)
        assert arguments.address.zone() == ZoneInfo(name)
        assert arguments.clock.now().tzinfo == ZoneInfo(name)

    def test_is_the_machines_by_default(self) -> None:
        now = understood().clock.now()
        assert now.utcoffset() == now.astimezone().utcoffset()
        assert abs(now - understood("--time-zone", "Asia/Tokyo").clock.now()) < timedelta(minutes=1)

    @pytest.mark.parametrize(
        "name", ["", "Mars/Olympus", "Europe", "Europe/Berlin/Mitte", "/etc", "..", "a" * 300, "+02:00"]
    )
    def test_that_does_not_exist(self, name: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            understood("--time-zone", name)
        assert caught.value.option == "--time-zone"


class TestSize:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1", 1),
            ("17", 17),
            ("512 b", 512),
            ("64kb", 64 << 10),
            ("384mb", 384 << 20),
            ("2 GB", 2 << 30),
            ("20GiB", 20 << 30),
        ],
    )
    def test_sizes_are_read_with_their_units(self, text: str, expected: int) -> None:
        assert size("--task-size", text) == expected

    @pytest.mark.parametrize("text", ["", "mb", "lots", "-1", "-1mb", "1.5gb", "12 parsecs", "0", "0mb"])
    def test_texts_that_are_no_sizes_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidOption) as caught:
            size("--task-size", text)
        assert caught.value.option == "--task-size"
