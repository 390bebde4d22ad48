import pytest

from engine.dispatch.interpreters import Module, Script, interpreter_line, program_behind_env, what_runs

SCRIPTS = {
    "python task.py": "task.py",
    "python3 task.py --flag": "task.py",
    "python3.11 -u -B task.py": "task.py",
    "/usr/bin/python3.12 -uB task.py": "task.py",
    "python -W error task.py": "task.py",
    "python -Werror task.py": "task.py",
    "python -X utf8 -X dev task.py": "task.py",
    "python -Xutf8 task.py": "task.py",
    "python -uX dev task.py": "task.py",
    "python --check-hash-based-pycs always task.py": "task.py",
    "python -- -odd.py": "-odd.py",
    "C:\\Python\\python.exe task.py": "task.py",
    "pythonw.exe task.py": "task.py",
    "py -3.11 task.py": "task.py",
    "pypy3 task.py": "task.py",
    "node app.js": "app.js",
    "node --inspect -r ./hook.js app.js": "app.js",
    "node --import=tsx app.ts": "app.ts",
    "ruby -w -I lib run.rb": "run.rb",
    "ruby -Ilib run.rb": "run.rb",
    "perl -w -I lib run.pl": "run.pl",
    "perl5.36 run.pl": "run.pl",
    "php -d memory_limit=1G run.php": "run.php",
    "php -f run.php": "run.php",
    "bash build.sh": "build.sh",
    "bash -eu build.sh": "build.sh",
    "bash -o pipefail build.sh": "build.sh",
    "bash -euo pipefail build.sh": "build.sh",
    "bash +o history build.sh": "build.sh",
    "sh ./build.sh -c": "./build.sh",
    "zsh build.zsh": "build.zsh",
    "pwsh -NoProfile -File build.ps1 -Fast": "build.ps1",
    "powershell.exe -ExecutionPolicy Bypass -file build.ps1": "build.ps1",
    "pwsh build.ps1": "build.ps1",
    "cmd /c build.bat": "build.bat",
    "cmd.exe /d /s /C build.bat x": "build.bat",
    "Rscript --vanilla run.R": "run.R",
    "lua5.4 run.lua": "run.lua",
    "cscript //nologo run.vbs": "run.vbs",
    "env python task.py": "task.py",
    "/usr/bin/env -i A=1 -u B python3 -u task.py": "task.py",
}
CODE = [
    "python",
    "python -",
    "python -c print(1)",
    "python -cprint(1) x.py",
    "python -uc print(1)",
    "python -i",
    "python --version",
    "node -e 1",
    "node --eval=1 x",
    "node -p 1",
    "ruby -e 1",
    "ruby -ne 1 file",
    "perl -ne 1 file",
    "perl -pie 1 file",
    "php -r 1",
    "bash -c ls x",
    "bash -euc ls",
    "sh -s",
    "pwsh -Command ls",
    "pwsh -NoProfile -c ls",
    "powershell -EncodedCommand QQ==",
    "cmd",
    "Rscript -e 1",
    "env",
    "env A=1",
    "git status",
    "pytest tests",
    "pythonic x.py",
    "shellcheck build.sh",
    "task.py",
]


@pytest.mark.parametrize(("line", "script"), SCRIPTS.items())
def test_e40a_the_script_of_an_interpreter_is_found(line, script):
    argv = tuple(line.split(" "))
    found = what_runs(argv)
    assert isinstance(found, Script)
    assert found.path == script
    assert argv[found.index] == script


@pytest.mark.parametrize("line", CODE)
def test_code_in_argv_and_other_programs_have_no_script(line):
    assert what_runs(tuple(line.split(" "))) is None


@pytest.mark.parametrize(
    ("line", "name", "from_folder"),
    [
        ("python -m unittest -v", "unittest", True),
        ("python -munittest", "unittest", True),
        ("python -um pkg.tool x.py", "pkg.tool", True),
        ("python -W error -m pkg", "pkg", True),
        ("python -I -m pkg", "pkg", False),
        ("python -Pm pkg", "pkg", False),
        ("env -i python -m pkg", "pkg", True),
    ],
)
def test_python_modules_are_found(line, name, from_folder):
    assert what_runs(tuple(line.split(" "))) == Module(name, from_folder)


def test_a_command_that_may_be_no_script_is_marked():
    assert not what_runs(("cmd", "/c", "echo")).certain
    assert not what_runs(("powershell", "Get-Date")).certain
    assert what_runs(("bash", "x")).certain
    assert what_runs(("pwsh", "-File", "x.ps1")).certain


def test_the_name_behind_a_link_counts_too():
    assert what_runs(("tool", "x.py")) is None
    assert what_runs(("tool", "x.py"), "/usr/bin/python3.11") == Script("x.py", 1)


def test_the_program_behind_env():
    assert program_behind_env(("env", "-i", "A=1", "tool", "x")) == ("tool", 3)
    assert program_behind_env(("env", "-C", "/tmp", "tool")) == ("tool", 3)
    assert program_behind_env(("env",)) is None
    assert program_behind_env(("tool",)) is None


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        (b"#!/bin/sh\necho", ("/bin/sh",)),
        (b"#! /bin/sh -e -u\n", ("/bin/sh", "-e -u")),
        (b"#!/usr/bin/env python3\n", ("/usr/bin/env", "python3")),
        (b"#!/usr/bin/env -S python3 -u\n", ("/usr/bin/env", "python3", "-u")),
        (b"#!/bin/sh", ("/bin/sh",)),
        (b"#!/bin/\xff\n", ("/bin/\udcff",)),
        (b"#!\n/bin/sh", None),
        (b"#!", None),
        (b"", None),
        (b"\x7fELF#!", None),
        (b" #!/bin/sh", None),
    ],
)
def test_the_line_that_names_an_interpreter(beginning, found):
    assert interpreter_line(beginning) == found
