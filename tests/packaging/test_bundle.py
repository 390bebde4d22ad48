"""What goes into the bundle besides the program: icon, version resource, licences, and what is left out."""

from __future__ import annotations

import importlib.util
import struct
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtGui import QImage

from engine.version import VERSION

ROOT = Path(__file__).parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("praxis_bundle", ROOT / "packaging" / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


bundle = load()


def test_the_icon_has_every_size(tmp_path: Path) -> None:
    icon = bundle.write_icon(
        ROOT / "resources" / "icons" / "praxis.svg", tmp_path / "praxis.ico"
    ).read_bytes()
    assert struct.unpack("<HHH", icon[:6]) == (0, 1, len(bundle.ICON_SIZES))
    for number, size in enumerate(bundle.ICON_SIZES):
        entry = icon[6 + 16 * number : 22 + 16 * number]
        width, height, _, _, _, depth, length, place = struct.unpack("<BBBBHHII", entry)
        assert (width or 256, height or 256, depth) == (size, size, 32)
        picture = QImage.fromData(icon[place : place + length], "PNG")
        assert (picture.width(), picture.height()) == (size, size)
        assert picture.pixelColor(size // 2, size // 10).blue() > 150, "the blue of the tile"


def test_the_version_resource_says_what_the_project_says() -> None:
    project = bundle.read_project()
    assert (project.name, project.version) == ("praxis-console", VERSION)
    text = bundle.version_resource(project, "praxis", "Praxis Console on the command line")
    for expected in (
        project.description,
        project.copyright,
        f"'ProductVersion', '{VERSION}'",
        "'praxis.exe'",
    ):
        assert expected in text
    compile(text, "version", "eval")


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("1.2.3", (1, 2, 3, 0)),
        ("0.10", (0, 10, 0, 0)),
        ("2.0.0rc1", (2, 0, 0, 0)),
        ("1.2.3.4+local", (1, 2, 3, 4)),
    ],
)
def test_windows_compares_four_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert bundle.version_numbers(version) == numbers


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        ("PySide6\\opengl32sw.dll", False),
        ("PySide6/Qt6Core.dll", True),
        ("PySide6/Qt6Pdf.dll", False),
        ("PySide6/Qt6Qml.dll", False),
        ("PySide6/translations/qt_de.qm", False),
        ("PySide6\\plugins\\platforms\\qwindows.dll", True),
        ("PySide6\\plugins\\platforms\\qminimal.dll", False),
        ("PySide6\\plugins\\imageformats\\qsvg.dll", True),
        ("PySide6\\plugins\\imageformats\\qtiff.dll", False),
        ("PySide6\\plugins\\iconengines\\qsvgicon.dll", True),
        ("PySide6\\plugins\\tls\\qopensslbackend.dll", False),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqeglfs.so", False),
        ("PySide6/Qt/plugins/wayland-shell-integration/libxdg-shell.so", True),
        ("resources/icons/praxis.svg", True),
    ],
)
def test_only_the_used_parts_of_qt_are_shipped(place: str, wanted: bool) -> None:
    assert bundle.is_wanted(place) is wanted


def test_what_is_shipped_is_named_with_its_licence(tmp_path: Path) -> None:
    modules = ["engine.engine", "app.main", "qasync", "PySide6.QtCore", "tzdata/zoneinfo/Africa/Juba", "json"]
    parts = bundle.find_components(modules, ["Qt6Core.dll", "python313.dll", "_pydantic_core.cp313.pyd"])
    names = [part.name for part in parts]
    assert names == ["PySide6_Essentials", "qasync", "tzdata", "Python", "Qt"]
    bundle.write_licences(parts, tmp_path / "licences")
    listed = (tmp_path / "licences" / "THIRD-PARTY.md").read_text(encoding="utf-8")
    assert "| qasync | 0." in listed
    for name in names:
        assert list((tmp_path / "licences" / name).iterdir())
    assert (tmp_path / "licences" / "PySide6_Essentials" / "LGPL-3.0.txt").exists()


def test_nothing_is_shipped_without_a_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(bundle.Incomplete, match="pytest would be shipped"):
        bundle.find_components(["pytest"], [])
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(bundle.Incomplete, match=r"come from: stranger\.dll"):
        bundle.find_components([], ["stranger.dll", "Qt6Gui.dll"])


def test_the_dependencies_of_the_product_are_all_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = tomllib.loads((ROOT / "packaging" / "third-party.toml").read_text(encoding="utf-8"))[
        "distributions"
    ]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["mcp"]]
    names = {line.split("=")[0].split(">")[0].strip().lower() for line in wanted}
    assert names <= listed.keys()
