"""Scrapes an operator's /metrics as Prometheus does, and keeps everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from threading import Event, Thread
from time import time
from typing import Self
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from infrastructure.chart.judging import Values

TARGET = {"namespace": "lithify", "job": "lithify-operator", "pod": "lithify-operator-0"}
"""What a scrape of the chart's Service adds."""


class Scraper:
    """Asks again and again, in a thread of its own, from `with` to its end."""

    def __init__(self, port: int, seconds: float) -> None:
        self._address = f"http://127.0.0.1:{port}/metrics"
        self._seconds = seconds
        self._points: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = defaultdict(list)
        self._over = Event()
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def history(self) -> list[Values]:
        """All that was scraped; to be asked when it is over."""
        return [Values(dict(labels), points) for labels, points in self._points.items()]

    def _work(self) -> None:
        while not self._over.wait(self._seconds):
            with suppress(OSError):
                self._scrape()

    def _scrape(self) -> None:
        now = time()
        with urlopen(self._address, timeout=self._seconds) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        for family in families:
            for sample in family.samples:
                self._points[self._key(sample.name, sample.labels)].append((now, sample.value))

    def _key(self, name: str, labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
        # A label of a target goes before one of a series, which becomes exported_...
        own = {f"exported_{label}" if label in TARGET else label: value for label, value in labels.items()}
        return frozenset({**own, **TARGET, "__name__": name}.items())
