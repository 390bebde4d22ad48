"""What `pyinstaller.spec` needs besides PyInstaller: icon, version resource, licences, and what is left out."""

from __future__ import annotations

import os
import re
import shutil
import struct
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from typing import Any

PACKAGING = Path(__file__).resolve().parent
ROOT = PACKAGING.parent
OUR_PACKAGES = frozenset({"app", "engine", "resources"})

ICON_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)

QT_PLUGINS = frozenset(
    {
        "iconengines/svgicon",
        "imageformats/svg",
        "platforminputcontexts/composeplatforminputcontext",
        "platforminputcontexts/ibusplatforminputcontext",
        "platforms/offscreen",
        "platforms/wayland",
        "platforms/windows",
        "platforms/xcb",
        "platformthemes/xdgdesktopportal",
        "wayland-decoration-client/adwaita",
        "wayland-decoration-client/bradient",
        "wayland-graphics-integration-client/qt-plugin-wayland-egl",
        "wayland-shell-integration/xdg-shell",
        "xcbglintegrations/xcb-egl-integration",
        "xcbglintegrations/xcb-glx-integration",
    }
)
"""The Qt plugins that are used: the window, the tray, SVG icons, input methods. The console speaks no TLS."""

NOT_USED = re.compile(
    r"opengl32sw|d3dcompiler_|/translations/|Qt6?(Pdf|Qml|Quick|Sql|Test|VirtualKeyboard|PrintSupport|OpenGLWidgets)",
    re.IGNORECASE,
)
"""Parts of Qt that PyInstaller finds beside what is used. Without opengl32sw no window needs OpenGL here."""

EXCLUDED_MODULES = (
    "IPython", "PIL", "PyInstaller", "_pytest", "cffi", "cryptography", "curses", "ensurepip", "hypothesis",
    "idlelib", "jwt", "lib2to3", "mcp.cli", "numpy", "pip", "pydoc_data", "pytest",
    "setuptools", "test", "tkinter", "turtledemo", "venv", "watchfiles", "win32evtlog", "win32evtlogutil",
)  # fmt: skip
"""Modules that something mentions and nothing here runs: test and build tools, and sign-in for agents over the net."""

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)


class Incomplete(Exception):
    """The bundle would ship something whose licence is not known."""


# ------------------------------------------------------------------------------------------------------- the icon


def write_icon(svg: Path, target: Path) -> Path:
    """Paint an SVG in all usual sizes into one ``.ico`` file; every picture in it is a PNG."""
    # Only here: the rest of this module is used where Qt is not needed.
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(QByteArray(svg.read_bytes()))
    pictures: list[bytes] = []
    for size in ICON_SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")
        pictures.append(bytes(buffer.data().data()))
    target.write_bytes(pack_icon(ICON_SIZES, pictures))
    return target


def pack_icon(sizes: Sequence[int], pictures: Sequence[bytes]) -> bytes:
    """Put PNG pictures of these sizes together as the content of an ``.ico`` file."""
    header = struct.pack("<HHH", 0, 1, len(pictures))
    place = len(header) + 16 * len(pictures)
    entries = b""
    for size, picture in zip(sizes, pictures, strict=True):
        side = 0 if size == 256 else size
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(picture), place)
        place += len(picture)
    return header + entries + b"".join(pictures)


# ----------------------------------------------------------------------------------------------- version resource


@dataclass(frozen=True, slots=True)
class Project:
    """What `pyproject.toml`, the version module and the licence say of the product."""

    name: str
    description: str
    version: str
    copyright: str


def read_project(root: Path = ROOT) -> Project:
    """Read the product's name, description, version and copyright line."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    source = project["tool"]["hatch"]["version"]
    version = re.search(source["pattern"], (root / source["path"]).read_text(encoding="utf-8"))
    owner = re.search(r"^Copyright .+$", (root / "LICENSE").read_text(encoding="utf-8"), re.MULTILINE)
    if version is None or owner is None:
        raise Incomplete("The version or the copyright line was not found.")
    words = project["project"]
    return Project(words["name"], words["description"], version["version"], owner[0])


def version_numbers(version: str) -> tuple[int, int, int, int]:
    """Give the four numbers that Windows compares; letters such as ``rc1`` count for nothing."""
    numbers = [int(part) for part in re.findall(r"\d+", version.split("+")[0].split("rc")[0])][:4]
    one, two, three, four = (*numbers, 0, 0, 0, 0)[:4]
    return one, two, three, four


def version_resource(project: Project, program: str, what: str) -> str:
    """Write the version resource of one program in the form that PyInstaller reads."""
    numbers = version_numbers(project.version)
    strings = {
        "CompanyName": "Praxis Console contributors",
        "FileDescription": what,
        "FileVersion": project.version,
        "InternalName": program,
        "LegalCopyright": project.copyright,
        "OriginalFilename": f"{program}.exe",
        "ProductName": "Praxis Console",
        "ProductVersion": project.version,
        "Comments": project.description,
    }
    table = ",\n        ".join(f"StringStruct({name!r}, {text!r})" for name, text in strings.items())
    return f"""VSVersionInfo(
  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, flags=0x0, OS=0x40004, fileType=0x1),
  kids=[
    StringFileInfo([StringTable('040904B0', [
        {table}
    ])]),
    VarFileInfo([VarStruct('Translation', [0x0409, 1200])])
  ]
)
"""


# ------------------------------------------------------------------------------------------------------- contents


def is_wanted(name: str) -> bool:
    """Say whether a file that PyInstaller found for the bundle is used; ``name`` is its place in the bundle."""
    place = name.replace("\\", "/")
    if NOT_USED.search(place):
        return False
    plugin = re.search(r"/plugins/([^/]+)/(?:lib)?q?([^/]+?)(?:\.abi3)?(?:\.dll|\.so)$", place)
    if plugin is None:
        return True
    return f"{plugin[1]}/{plugin[2]}" in QT_PLUGINS


# ------------------------------------------------------------------------------------------------------- licences


@dataclass(frozen=True, slots=True)
class Component:
    """Something that is shipped: its name and version, its licence as an SPDX expression, and the texts of it."""

    name: str
    version: str
    licence: str
    texts: tuple[Path, ...]


def find_components(modules: Iterable[str], libraries: Iterable[str]) -> list[Component]:
    """Name everything that is shipped; `Incomplete` for what `third-party.toml` or a licence text lacks.

    ``modules`` are the names of modules and the places of data files, ``libraries`` the file names of binaries.
    """
    listed = tomllib.loads((PACKAGING / "third-party.toml").read_text(encoding="utf-8"))
    return [*_distributions(listed["distributions"], modules), *_libraries(listed, set(libraries))]


def _distributions(listed: Mapping[str, Any], modules: Iterable[str]) -> Iterator[Component]:
    known = packages_distributions()
    tops = {re.split(r"[./\\\\]", module)[0] for module in modules} - OUR_PACKAGES
    for name in sorted({name for top in tops for name in known.get(top, ())}, key=str.lower):
        entry = listed.get(name.lower().replace("_", "-"))
        if entry is None:
            raise Incomplete(f"{name} would be shipped, but third-party.toml does not say its licence.")
        installed = distribution(name)
        texts = tuple(_texts_of(installed)) or _texts_named(entry.get("texts", ()))
        if not texts:
            raise Incomplete(f"{name} would be shipped, but no text of its licence was found.")
        yield Component(name, installed.version, entry["licence"], texts)


def _libraries(listed: Mapping[str, Any], names: set[str]) -> Iterator[Component]:
    for part in listed["libraries"]:
        files = re.compile(part["files"], re.IGNORECASE)
        found = {name for name in names if files.match(name)}
        names = names - found
        if found and part["texts"]:
            yield Component(part["name"], "", part["licence"], _texts_named(part["texts"]))
    # A Linux bundle takes libraries of the machine it is built on; it is for trying out and is not given away.
    if names and sys.platform == "win32":
        raise Incomplete(f"third-party.toml does not say where these come from: {', '.join(sorted(names))}")


def _texts_of(installed: Distribution) -> Iterator[Path]:
    for file in installed.files or ():
        if ".dist-info" in file.parts[0] and LICENCE_FILE.match(file.name):
            yield Path(str(installed.locate_file(file)))


def _texts_named(names: Iterable[str]) -> tuple[Path, ...]:
    found: list[Path] = []
    for name in names:
        if name == "@python":
            places = (Path(sys.base_prefix) / "LICENSE.txt", Path(os.__file__).parent / "LICENSE.txt")
            found += [next(place for place in places if place.exists())]
        elif name == "@pyinstaller":
            found += _texts_of(distribution("pyinstaller"))
        else:
            found.append(PACKAGING / "licences" / name)
    return tuple(found)


def write_licences(parts: Sequence[Component], folder: Path) -> None:
    """Write the texts into ``folder``, one folder for each component, and a list of all as ``THIRD-PARTY.md``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE.txt")
    lines = [
        "# What Praxis Console is made of",
        "",
        "Praxis Console itself is under the MIT licence (LICENSE.txt). It is shipped together with these, each",
        "under its own licence; their texts are in the folders beside this file.",
        "",
        "| Component | Version | Licence |",
        "| --- | --- | --- |",
    ]
    for part in parts:
        lines.append(f"| {part.name} | {part.version} | {part.licence} |")
        place = folder / part.name
        place.mkdir(exist_ok=True)
        for text in part.texts:
            shutil.copy(text, place / text.name)
    (folder / "THIRD-PARTY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


# ------------------------------------------------------------------------------------------------------ installer


def installer_header(project: Project) -> str:
    """Write what the installer script is told of the product."""
    numbers = ".".join(str(number) for number in version_numbers(project.version))
    facts = {"VERSION": project.version, "NUMBERS": numbers, "COPYRIGHT": project.copyright}
    return "".join(f'!define {name} "{text}"\n' for name, text in facts.items())


if __name__ == "__main__":
    print(installer_header(read_project()), end="")
