"""Logs: lines of JSON for machines or of text for terminals, with context fields and without credentials.

`set_up_logs` is called once by a command. `bound` sets the context of work, and `credentials.concerning` its
catalog: only that catalog's credentials are known while its lines are written. All loggers of the process end
here; those of other libraries from WARNING on.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from math import isfinite
from typing import Any, TextIO

from lithify.controller.telemetry.credentials import CatalogCredentials
from lithify.errors import Failure, LithifyError
from lithify.plain_text import json_escaped, plain_line, plain_lines
from lithify.redaction import REDACTED, is_telling

_QUIET = ("aiohttp", "asyncio", "kopf", "kubernetes", "urllib3")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_KOPF = frozenset({"k8s_ref", "k8s_skip", "settings"})
_DEEPEST = 6
_LONGEST = 32_768
"""Characters of one value; a traceback keeps its end, which contains the error."""

_about: ContextVar[Mapping[str, object]] = ContextVar("about", default={})  # noqa: B039  # never changed in place
credentials = CatalogCredentials()
"""Of all catalogs that this process knows; code that reads Secrets adds them."""


def shown(text: str, limit: int) -> str:
    """Prepares a text for people: redacted, on one plain line of at most `limit` characters."""
    return plain_line(credentials.redact(text), limit)


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Adds fields, for example `run` or `table`, to log lines inside, also of tasks begun in it."""
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


def set_up_logs(
    log_format: str, *, verbose: bool = False, stream: TextIO | None = None
) -> Callable[[], None]:
    """Sends all logs to a stream.

    Args:
        log_format: json or text.
        verbose: whether to include lines for developers.
        stream: default stderr.

    Returns:
        A function that undoes it.
    """
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(credentials) if log_format == "json" else TextFormatter(credentials))
    loggers = [logging.getLogger(name) for name in (None, "lithify", *_QUIET)]
    before = [(logger, logger.level) for logger in loggers]
    root, handlers, hooks = loggers[0], loggers[0].handlers[:], (sys.excepthook, threading.excepthook)
    root.handlers = [handler]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    loggers[1].setLevel(logging.DEBUG if verbose else logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda caught: _log_uncaught(
        caught.exc_type, caught.exc_value or caught.exc_type(), caught.exc_traceback
    )

    def undo() -> None:
        root.handlers = handlers
        logging.captureWarnings(False)
        sys.excepthook, threading.excepthook = hooks
        for logger, level in before:
            logger.setLevel(level)

    return undo


class JsonFormatter(logging.Formatter):
    """One object a line: `ts`, `level`, `logger`, `message`, then the context fields."""

    def __init__(self, secrets: CatalogCredentials) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of any record; never fails."""
        fields = _fields(record, self._secrets)
        return _writable(json_escaped(json.dumps(fields, ensure_ascii=False, separators=(",", ":"))))


class TextFormatter(logging.Formatter):
    """Time, level and message, then the fields as `name=value`; a traceback follows on lines of its own.

    Only the first line of a record begins at the margin, so that no text from outside adds a record.
    """

    def __init__(self, secrets: CatalogCredentials) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of any record; never fails."""
        fields = _fields(record, self._secrets)
        ts, level, message = (str(fields.pop(name)) for name in ("ts", "level", "message"))
        blocks = [str(fields.pop(name)) for name in ("traceback", "stack") if name in fields]
        pairs = [f"{name}={_value(value)}" for name, value in fields.items() if name != "logger"]
        first = " ".join([ts, f"{level:<7}", message, *pairs])
        return _writable(plain_lines("\n".join([first, *blocks])).replace("\n", "\n    "))


class _Handler(logging.StreamHandler[TextIO]):
    """Drops records that it cannot write: the standard handler prints them unredacted to stderr."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the base class's name
        del record


def _fields(record: logging.LogRecord, secrets: CatalogCredentials) -> dict[str, Any]:
    """A record as plain data without credentials."""
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    content = {"logger": record.name, "message": _message(record), **_about.get(), **_extra(record)}
    content |= _error(record)
    cleaned = {secrets.redact(name): _clean(value, name, secrets) for name, value in content.items()}
    return {"ts": moment.replace("+00:00", "Z"), "level": record.levelname, **cleaned}


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001  # a mistake in a call must not cost the line
        return f"{record.msg} ({type(error).__name__} while formatting it)"


def _extra(record: logging.LogRecord) -> dict[str, object]:
    """The fields given as `extra`, and the object that kopf names."""
    given = {name: value for name, value in vars(record).items() if name not in _STANDARD | _KOPF}
    given = {
        f"{name}_" if name in ("ts", "level", "logger") else name: value for name, value in given.items()
    }
    about = getattr(record, "k8s_ref", None)
    if isinstance(about, Mapping):
        given |= {name: about[name] for name in ("kind", "namespace", "name") if about.get(name)}
    return given


def _error(record: logging.LogRecord) -> dict[str, object]:
    found: dict[str, object] = {}
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        failure = error.failure if isinstance(error, LithifyError) else Failure.BUG
        lines = "".join(traceback.format_exception(error)).rstrip()
        found = {"error": type(error).__name__, "failure": failure.value, "traceback": lines}
    if record.stack_info:
        found["stack"] = record.stack_info
    return found


def _clean(value: object, name: str, secrets: CatalogCredentials, depth: int = 0) -> Any:
    """A value as plain data, redacted, and cut without leaving half of a credential."""
    if value is None or isinstance(value, bool):
        return value
    if is_telling(name):
        return REDACTED if secrets.redact(REDACTED) == REDACTED else ""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        pairs = [(_text(inner), entry) for inner, entry in list(value.items())]
        return {secrets.redact(inner): _clean(entry, inner, secrets, depth + 1) for inner, entry in pairs}
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEEPEST:
        return [_clean(entry, "", secrets, depth + 1) for entry in list(value)]
    text = _text(value)
    cleaned = secrets.redact_end(text, _LONGEST)
    if cleaned == text and (type(value) is int or (type(value) is float and isfinite(value))):
        return value
    return cleaned


def _text(value: object) -> str:
    try:
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    except Exception as error:  # noqa: BLE001  # whatever an object does when it is asked for its text
        return f"<{type(value).__name__} without text: {type(error).__name__}>"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    is_plain = text and not any(letter in text for letter in ' "=\n\t')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Logs uncaught exceptions, redacted like everything else."""
    if issubclass(kind, KeyboardInterrupt):
        return
    logging.getLogger("lithify").critical("not caught", exc_info=(kind, error, trace))
