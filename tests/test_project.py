"""Rules about the project itself: layers, words that must not appear, pins, and a README that tells the truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import typer
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engine.interfaces import cli

ROOT = Path(__file__).parents[1]
CODE = tuple(sorted([*(ROOT / "engine").rglob("*.py"), *(ROOT / "app").rglob("*.py")]))
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

_TEXT = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".json",
    ".sql",
    ".cfg",
    ".spec",
    ".iss",
    ".ps1",
    ".sh",
    ".yml",
    ".svg",
}


def product_files() -> Iterator[Path]:
    """Everything that is shipped or read by people, without what tools leave behind."""
    for name in ("engine", "app", "resources", "packaging", ".ci"):
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from (path for path in sorted(ROOT.iterdir()) if path.is_file() and path.suffix in _TEXT)


def lines_with(pattern: str, files: tuple[Path, ...], *, but: tuple[str, ...] = ()) -> list[str]:
    """The lines in which a pattern appears, as ``file:line: text``; ``but`` names files that may have it."""
    found = re.compile(pattern)
    return [
        f"{name}:{number}: {line.strip()}"
        for path in files
        if (name := path.relative_to(ROOT).as_posix()) not in but
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if found.search(line)
    ]


def under(folder: str) -> tuple[Path, ...]:
    return tuple(path for path in CODE if path.is_relative_to(ROOT / folder))


# -------------------------------------------------------------------------------------------------------- layers


def test_rooms_import_only_what_lies_below_them() -> None:
    """Architecture §1: the engine knows no Qt, the console no database, and the engine's rooms form layers."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --------------------------------------------------------------------------------------------------------- words


def test_the_console_never_blocks_its_loop() -> None:
    """Architecture §3: nested loops froze other tasks for good, and these resize modes took half a minute."""
    assert lines_with(r"\.exec\(|\.exec_\(|processEvents|asyncClose|ResizeToContents", under("app")) == []


def test_only_the_theme_sets_style_sheets() -> None:
    outside = tuple(path for path in under("app") if not path.is_relative_to(ROOT / "app" / "theme"))
    assert lines_with(r"setStyleSheet", outside) == []


def test_e02_only_the_clock_reads_the_time() -> None:
    assert (
        lines_with(r"\btime\.time(_ns)?\(|datetime\.(now|utcnow|today)\(", CODE, but=("engine/clock.py",))
        == []
    )


def test_e16a_nothing_opens_the_database_as_a_plain_file() -> None:
    """Closing any plain handle on the live file would drop SQLite's own locks on it."""
    pattern = r"(?i)(?<!sqlite3\.)\b(open|read_bytes|read_text|copy\w*)\(.*(sqlite|database)"
    assert lines_with(pattern, CODE, but=("engine/storage/schema.py",)) == []


def test_e90_nothing_is_unpickled() -> None:
    """What comes over the channel is bytes; `Connection.recv` would unpickle it."""
    assert lines_with(r"\bimport (pickle|marshal|shelve|dill)\b", CODE) == []
    assert lines_with(r"connection\.(recv|send)\(", under("engine/interfaces")) == []


def test_e52_no_shell_ever_runs() -> None:
    assert lines_with(r"shell=True|os\.system\(|os\.popen\(", CODE) == []


def test_the_product_names_no_machine_and_no_package_index() -> None:
    texts = tuple(path for path in product_files() if path.suffix in _TEXT or path.parent.name == ".ci")
    pattern = r"/root/|/work/|/home/\w|C:\\Users\\\w|index-url|find-links|pypi\.org|files\.pythonhosted"
    assert lines_with(pattern, texts) == []


# ---------------------------------------------------------------------------------------------------- dependencies


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(part) == 2 for part in parts), "a constraint is a name and an exact version"
    return {canonicalize_name(name): version for name, version in parts}


def test_every_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    pinned = pins()
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["test"],
        *PROJECT["build-system"]["requires"],
    ]
    for requirement in map(Requirement, wanted):
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


def test_what_is_installed_beside_is_pinned_too() -> None:
    """Nothing that a dependency brings along is left to chance."""
    from importlib.metadata import PackageNotFoundError, requires

    pinned, seen = pins(), set()
    waiting = [Requirement(text).name for text in PROJECT["project"]["dependencies"]]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        assert name in pinned
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, needed):
            if _applies(requirement.marker):
                waiting.append(requirement.name)


def _applies(marker: Marker | None) -> bool:
    return marker is None or marker.evaluate({"extra": ""})


# ----------------------------------------------------------------------------------------------------------- README


def test_the_readme_leads_with_the_two_commands() -> None:
    first = README.split("```")[1].strip().splitlines()
    assert first == [
        "python -m pip install -e . && praxis-console",
        'python -m pip install -e ".[test]" && python -m pytest',
    ]
    assert set(PROJECT["project"]["scripts"]) == {"praxis"}
    assert set(PROJECT["project"]["gui-scripts"]) == {"praxis-console"}


def commands() -> set[str]:
    names = set()
    for app, before in ((cli.app, ""), (cli.journal_app, "journal ")):
        names |= {before + str(one.name) for one in app.registered_commands}
    return names


def test_the_readme_tells_of_every_command_and_of_no_other() -> None:
    told = set(re.findall(r"praxis ((?:journal )?[a-z][a-z-]*)", README))
    groups = {str(group.name) for group in cli.app.registered_groups}
    assert told - {"and"} - groups == commands()


def test_the_options_in_the_readme_exist() -> None:
    group = typer.main.get_command(cli.app)
    known = {
        option
        for one in (group, *_subcommands(group))
        for parameter in getattr(one, "params", ())
        for option in parameter.opts
    }
    usage = README.split("## Command line")[1].split("##")[0]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", usage)) <= known


def _subcommands(group: object) -> Iterator[object]:
    for command in getattr(group, "commands", {}).values():
        yield command
        yield from _subcommands(command)


def test_places_in_the_readme_exist() -> None:
    for name in re.findall(r"`((?:engine|app|resources|\.ci)/[\w/.]*)`", README):
        assert (ROOT / name).exists(), name


def test_every_package_in_the_readme_is_a_dependency() -> None:
    table = README.split("## Dependencies")[1].split("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ") and "---" not in line][
        1:
    ]
    told = {canonicalize_name(name.split()[0]) for row in rows for name in row.split(",")}
    declared = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    assert told == declared
