"""Makes the pictures of docs/pictures from a run of some minutes: `make pictures`."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from infrastructure.building import spark_classes
from infrastructure.chart.judging import Span
from infrastructure.pictures import dashboard, terminal
from infrastructure.pictures.scene import Scene, prepared
from infrastructure.pictures.scraping import TARGET, Scraper

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
_EVERY = 2.0
"""Seconds between two scrapes."""
_COMMANDS = {
    "laketables": ["get laketables"],
    "compactions": ["get compactions"],
}


def main() -> None:
    parser = ArgumentParser(prog="make pictures", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long tables are written to")
    seconds = parser.parse_args().seconds
    os.environ.update(spark_classes.options())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and not without cleaning up
    folder = Path(tempfile.mkdtemp(prefix="lithify-pictures-"))
    FOLDER.mkdir(exist_ok=True)
    try:
        with prepared(folder) as scene:
            _draw(scene, seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _draw(scene: Scene, seconds: float) -> None:
    with Scraper(scene.port, _EVERY) as scraper:
        scene.write(seconds)
        scene.until_running()
        for name, commands in _COMMANDS.items():
            printed = [(f"kubectl {command}", scene.kubectl(*command.split())) for command in commands]
            _save(name, terminal.draw(f"What {printed[0][0]} prints", printed))
    history = scraper.history()
    times = [time for one in history for time, _ in one.points]
    span = Span(min(times), max(times), _EVERY, lookback=2.5 * _EVERY)
    variables = {**TARGET, "__rate_interval": "30s"}
    caption = (
        f"{len(scene.tables)} tables, {(span.end - span.start) / 60:.0f} minutes, {os.cpu_count()} cores "
        f"({platform.system()}). Drawn by `make pictures` from the dashboard's queries, not by Grafana."
    )
    _save("dashboard", dashboard.draw(history, span, variables, caption))


def _save(name: str, text: str) -> None:
    (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
    print(f"docs/pictures/{name}.svg", file=sys.stderr)


if __name__ == "__main__":
    main()
