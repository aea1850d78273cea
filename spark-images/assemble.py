"""Puts the Python side of the images together, for the Dockerfiles and for the tests.

Run by a Python 3.11 with uv beside it. Knows nothing of images: it fills folders. What it makes depends on
its input alone: bytecode is compiled without times, and jars get one fixed time.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = "/usr/local/lib/python3.11/dist-packages"
"""Where the folders end up in the images; tracebacks show it. Debian's Python looks there by itself."""
MODIFIED = 1_577_836_800
"""The time that jars get, in seconds: an archive of their classes holds only for jars of the same time."""


def main() -> None:
    """Runs one command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for run in (dependencies, operator, spark, code):
        command = commands.add_parser(run.__name__, description=run.__doc__)
        command.add_argument("source", type=Path, help="the folder with pyproject.toml and uv.lock")
        command.add_argument("target", type=Path, help="an empty folder, or none yet")
        command.set_defaults(run=run)
    arguments = parser.parse_args()
    arguments.run(arguments.source.resolve(), arguments.target.resolve())


def dependencies(source: Path, target: Path) -> None:
    """Installs what the package needs without its extras."""
    install(without(locked(source), lines_of(HERE / "without.txt")), target)
    prune(target, lines_of(HERE / "prune.txt"))
    strip(target)
    compile_all(target)


def operator(source: Path, target: Path) -> None:
    """Installs what the operator and its observing workers need of the same."""
    absent = lines_of(HERE / "without.txt") + lines_of(HERE / "operator" / "without.txt")
    install(without(locked(source), absent), target)
    prune(target, lines_of(HERE / "prune.txt") + lines_of(HERE / "operator" / "prune.txt"))
    strip(target)
    compile_all(target, beside=True)
    drop_sources(target)


def spark(source: Path, target: Path) -> None:
    """Installs what the extra `job` needs besides: PySpark, with the jars of spark/jars.txt."""
    base = {name_of(entry) for entry in locked(source)}
    install([entry for entry in locked(source, "job") if name_of(entry) not in base], target)
    prune(target, lines_of(HERE / "spark" / "prune.txt"))
    keep_jars(target / "pyspark" / "jars", lines_of(HERE / "spark" / "jars.txt"))
    compile_all(target)


def code(source: Path, target: Path) -> None:
    """Copies the package itself."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "operator" / "lithify", target / "lithify", ignore=without)
    compile_all(target)


def locked(source: Path, *extras: str) -> list[str]:
    """What uv.lock says to install, with hashes: an entry a package, in the format of requirements files."""
    command = ["export", "--frozen", "--no-dev", "--no-emit-project", "--no-header", "--no-annotate"]
    command += [word for extra in extras for word in ("--extra", extra)]
    text = uv(*command, "--project", str(source))
    return [entry.strip() for entry in re.split(r"\n(?=\S)", text) if entry.strip()]


def name_of(entry: str) -> str:
    """The package of an entry."""
    return re.split(r"[=\s;\[]", entry, maxsplit=1)[0]


def without(entries: Sequence[str], names: Sequence[str]) -> list[str]:
    """The entries of all packages but some.

    Raises:
        SystemExit: a name is not the name of an entry.
    """
    if unknown := set(names) - {name_of(entry) for entry in entries}:
        sys.exit(
            f"{', '.join(sorted(unknown))} is in without.txt, but not in uv.lock: the list is out of date"
        )
    return [entry for entry in entries if name_of(entry) not in names]


def install(entries: Sequence[str], target: Path) -> None:
    """Installs packages into a folder; each file that comes is checked against its hash in uv.lock."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(entries) + "\n")
        file.flush()
        words = ("pip", "install", "--quiet", "--require-hashes", "--no-deps", "--no-config")
        uv(*words, "--python", sys.executable, "--target", str(target), "-r", file.name)
    for leftover in (".lock", ".gitignore", "CACHEDIR.TAG"):
        (target / leftover).unlink(missing_ok=True)
    for record in target.glob("*.dist-info/direct_url.json"):
        record.unlink()


def prune(folder: Path, patterns: Sequence[str]) -> None:
    """Takes files and folders out, but leaves what a pattern with `!` matches.

    Raises:
        SystemExit: a pattern matches nothing.
    """
    kept = {path for pattern in patterns if pattern[0] == "!" for path in matching(folder, pattern[1:])}
    for pattern in patterns:
        for path in matching(folder, pattern) if pattern[0] != "!" else ():
            if path in kept:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files and folders that a pattern matches, deepest first."""
    found = sorted(folder.glob(pattern), reverse=True)
    if not found:
        sys.exit(f"{pattern} matches nothing in {folder}: the list of what to take out is out of date")
    return found


def strip(folder: Path) -> None:
    """Takes symbols for debuggers out of compiled modules; libraries that were patched are left alone."""
    for path in sorted(folder.rglob("*.so*")):
        if path.is_symlink() or path.parent.name.endswith(".libs"):
            continue
        stripped = path.with_name(path.name + ".stripped")
        subprocess.run(["strip", "--strip-unneeded", "-o", str(stripped), str(path)], check=True)
        stripped.chmod(path.stat().st_mode & 0o777)
        stripped.replace(path)


def keep_jars(folder: Path, names: Sequence[str]) -> None:
    """Removes all jars but those that are listed as `name` or `name:classifier`; fixes the times of the rest.

    Raises:
        SystemExit: a name is not the name of one jar.
    """
    jars = {path.name: path for path in folder.glob("*.jar")}
    kept = {jar_of(name, jars) for name in names}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
            continue
        content = path.read_bytes()
        path.unlink()
        if path.name in kept:
            path.write_bytes(content)  # a copy: what was installed may be a hard link into the cache of uv
            os.utime(path, (MODIFIED, MODIFIED))


def jar_of(name: str, jars: Collection[str]) -> str:
    """The jar with a name, whatever its version."""
    artifact, _, classifier = name.partition(":")
    ending = f"-{re.escape(classifier)}" if classifier else ""
    pattern = re.compile(rf"{re.escape(artifact)}(_2\.\d+)?-\d[\w.]*(-jre|-GA|-\d+)?{ending}\.jar")
    found = [jar for jar in jars if pattern.fullmatch(jar)]
    if len(found) != 1:
        sys.exit(f"{len(found)} jars are named {name}: spark/jars.txt is out of date")
    return found[0]


def compile_all(folder: Path, *, beside: bool = False) -> None:
    """Compiles to bytecode that is taken as it is, without a look at the source's time.

    `beside` puts it beside its source, not into `__pycache__`: there Python finds it without the source.
    """
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    options = {"quiet": 2, "workers": 0, "invalidation_mode": unchecked, "legacy": beside}
    compileall.compile_dir(folder, stripdir=str(folder), prependdir=PACKAGES, maxlevels=50, **options)


def drop_sources(folder: Path) -> None:
    """Removes each source that has its bytecode beside it. Tracebacks still name its file and line."""
    for path in sorted(folder.rglob("*.py")):
        if path.with_suffix(".pyc").exists():
            path.unlink()


def lines_of(path: Path) -> list[str]:
    """The lines of a list, without comments."""
    return list(_lines(path))


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if text := line.partition("#")[0].strip():
            yield text


def uv(*words: str) -> str:
    """Runs uv and returns what it prints.

    Raises:
        SystemExit: it failed.
    """
    beside = Path(sys.executable).parent / "uv"
    program = str(beside) if beside.exists() else "uv"
    environment = {name: value for name, value in os.environ.items() if name != "UV_PROJECT_ENVIRONMENT"}
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"uv {words[0]} failed, see above")
    return done.stdout


if __name__ == "__main__":
    main()
