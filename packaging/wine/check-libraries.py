"""check-libraries.py BUNDLE: every library that a program in the bundle loads is in the bundle or a part of Windows 10.

A Windows bundle made under Wine can lack what Wine has and Windows does not, or hold what is Wine's own. Neither shows
when it runs under Wine, so it is read from the files: their import tables, machine type and origin.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pefile

X64 = 0x8664

OF_WINDOWS = re.compile(
    r"(api-ms-win-.*|ext-ms-win-.*|advapi32|authz|bcrypt|bcryptprimitives|cfgmgr32|comctl32|comdlg32|crypt32|d2d1|d3d11"
    r"|d3d12|d3d9|dnsapi|dwmapi|dwrite|dxgi|gdi32|icuuc|imm32|iphlpapi|kernel32|mpr|ncrypt|netapi32|ntdll|ole32|oleaut32"
    r"|pdh|powrprof|propsys|psapi|rpcrt4|secur32|setupapi|shcore|shell32|shlwapi|uiautomationcore|user32|userenv|uxtheme|version|wevtapi"
    r"|winhttp|winmm|winspool|ws2_32|wtsapi32)\.(dll|drv)"
)
"""What every Windows 10 since version 1703 has."""

NEVER_SHIPPED = {"bcryptprimitives.dll", "icuuc.dll", "mscms.dll", "propsys.dll"}
"""Parts of Windows for which the Wine prefix has stand-ins: one of those in the bundle would break Windows."""

NEEDED = {
    "praxis.exe",
    "praxis-console.exe",
    "praxis-console-debug.exe",
    "msvcp140.dll",
    "python3.dll",
    "qwindows.dll",
    "sqlite3.dll",
    "vcruntime140.dll",
    "vcruntime140_1.dll",
}


def problems(bundle: Path) -> Iterator[str]:
    """Say what is wrong with a bundle, one sentence each."""
    files = [path for path in bundle.rglob("*") if path.suffix.lower() in {".dll", ".exe", ".pyd"}]
    there = {path.name.lower() for path in files}
    for name in sorted(NEEDED - there):
        yield f"{name} is missing."
    for name in sorted(NEVER_SHIPPED & there):
        yield f"{name} is a part of Windows and must not be shipped."
    for path in files:
        with path.open("rb") as file:
            of_wine = b"Wine builtin" in file.read(1024)
        image = pefile.PE(str(path), fast_load=True)
        if of_wine:
            yield f"{path.name} is Wine's own."
        if image.FILE_HEADER.Machine != X64:
            yield f"{path.name} is not for x64."
        image.parse_data_directories([1, 13])
        imports = [
            *getattr(image, "DIRECTORY_ENTRY_IMPORT", ()),
            *getattr(image, "DIRECTORY_ENTRY_DELAY_IMPORT", ()),
        ]
        for entry in imports:
            name = entry.dll.decode().lower()
            if name not in there and not OF_WINDOWS.fullmatch(name):
                yield f"{path.name} loads {name}, which is neither in the bundle nor a part of Windows."
    print(f"         {len(files)} programs and libraries were read")


found = list(problems(Path(sys.argv[1])))
print("\n".join(found))
sys.exit(bool(found))
