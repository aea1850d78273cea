"""`lithify`: the group of commands, and how errors end them.

Exit codes: 0 done or nothing to do, 2 bad usage or a table that cannot be served, 3 gave up on conflicts, 4
an operator that may not lead any more, 5 done but for groups that cannot be compacted, 1 anything else. An
error is one sentence on stderr; `-v` adds the traceback.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

import click

from lithify import __version__
from lithify.errors import LithifyError
from lithify.plain_text import plain_line, plain_lines

BAD_USAGE = click.UsageError.exit_code
INTERRUPTED = 130
_LONGEST = 16_384
"""Characters of the sentence about an error."""
COMMANDS = (
    "inspect",
    "plan",
    "compact",
    "expire",
    "expire-partitions",
    "manage-tags",
    "merge-manifests",
    "remove-orphans",
    "rollback",
    "import",
    "operator",
    "watch",
    "logs",
    "top",
    "release",
    "drive",
    "demo",
)

_MODULES = {"import": "import_settings"}
"""Modules of commands whose names are words of Python."""


class _Commands(click.Group):
    """The commands, each imported only when it is called: the operator must stay small."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if name != "drive"] + super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = _MODULES.get(cmd_name, cmd_name.replace("-", "_"))
        found: click.Command = getattr(import_module(f"lithify.cli.{module}"), module)
        return found


@click.group(
    cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__)
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks and what Spark prints.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Keeps Apache Paimon tables compacted: plans like Paimon, merges in Arrow, runs on Spark."""
    context.obj = verbose
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_USAGE)


def main() -> None:
    """The entry point: runs a command and ends the process with its exit code."""
    verbose = bool({"-v", "--verbose"} & set(sys.argv[1:]))
    try:
        code = cli(standalone_mode=False)
    except click.UsageError as error:
        _tell(_usage_problem(error), verbose=verbose)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except LithifyError as error:
        _tell(str(error), verbose=verbose)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001  # the last resort: whatever it is, users get a sentence
        _tell(_missing_module(error) or _bug(error), verbose=verbose)
        sys.exit(1)
    sys.exit(code or 0)


def _usage_problem(error: click.UsageError) -> str:
    """What is wrong, and where the right words are listed."""
    command = error.ctx.command_path if error.ctx else "lithify"
    return f"{error.format_message().rstrip('.')}; try {command} -h"


def _missing_module(error: Exception) -> str | None:
    """Names a library's module that is not installed: the operator's image is not for all commands."""
    if not isinstance(error, ModuleNotFoundError) or str(error.name).partition(".")[0] == "lithify":
        return None
    return (
        f"this command needs the Python module {error.name}, which is not installed here; "
        "the Spark image has it, and pip installs it with lithify[job]"
    )


def _bug(error: Exception) -> str:
    return f"unexpected {type(error).__name__}: {error}. This is a bug in Lithify, please report it"


def _tell(sentence: str, *, verbose: bool) -> None:
    if verbose:
        click.echo(plain_lines(traceback.format_exc()), err=True)
    click.echo(plain_line(f"lithify: {sentence}", _LONGEST), err=True)
