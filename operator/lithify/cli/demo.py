"""`lithify demo`: placeholder while the demo is being written."""

import click


@click.command()
def demo() -> None:
    """Make a messy table, compact it and show what changed."""
