"""Numbers with Grafana's units, in as few letters as an axis has room for."""

from __future__ import annotations

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL = ("", "k", "M", "G")


def shown(value: float, unit: str) -> str:
    """A number as a panel with such a unit shows it."""
    match unit:
        case "bytes":
            return _scaled(value, 1024, _BINARY, " ")
        case "Bps":
            return f"{_scaled(value, 1024, _BINARY, ' ')}/s"
        case "s":
            return f"{_plain(value * 1000)} ms" if 0 < value < 1 else f"{_plain(value)} s"
        case "percentunit":
            return f"{_plain(100 * value)} %"
        case "reqps":
            return f"{value:.3g}/s"
        case _:
            return _scaled(value, 1000, _DECIMAL, "")


def _scaled(value: float, base: int, names: tuple[str, ...], gap: str) -> str:
    power = 0
    while abs(value) >= base and power < len(names) - 1:
        value, power = value / base, power + 1
    return f"{_plain(value)}{gap}{names[power]}".strip()


def _plain(value: float) -> str:
    """Three digits or more, and never an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
