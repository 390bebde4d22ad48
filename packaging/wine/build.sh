#!/usr/bin/env bash
# build.sh OUT: the Windows bundle and its installer, made and tried on Debian under Wine. In OUT then are
#   praxis-console-VERSION-setup.exe   the installer
#   self-test.json                     what the installed program found when it tried itself
#   window.png                         the installed program's window on its first start
# Needs root on a fresh machine, for the Debian packages. It uses the installed place and the data folder of a user in a
# Wine prefix of its own and nothing else. Exit code 0 means that all of it worked.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_packages
need_tools
need_windows_python
need_windows_packages
need_wine
cd "$root"

most_bundle_mb=130
most_installer_mb=50

step "bundle"
rm -rf "$work/dist"
at_most 1800 "$windows_python/python.exe" -m PyInstaller --noconfirm --log-level WARN --workpath "$(windows_path "$work/freezing")" \
    --distpath "$(windows_path "$work/dist")" pyinstaller.spec >"$work/freezing.log" || {
    tail -40 "$work/freezing.log" >&2
    fail "PyInstaller failed."
}
bundle=$work/dist/praxis-console
bundle_mb=$(du -sm --apparent-size "$bundle" | cut -f1)

step "libraries"
"$work/tools/bin/python" packaging/wine/check-libraries.py "$bundle"

step "installer"
python3 packaging/bundle.py >"$work/project.nsh"
version=$(sed -n 's/^!define VERSION "\(.*\)"$/\1/p' "$work/project.nsh")
setup=$out/praxis-console-$version-setup.exe
makensis -V2 -DPROJECT="$work/project.nsh" -DBUNDLE="$bundle" -DICON="$work/freezing/pyinstaller/praxis.ico" \
    -DOUTPUT="$setup" packaging/installer.nsi
setup_mb=$(($(stat --format=%s "$setup") / 1000000))
[ "$bundle_mb" -le "$most_bundle_mb" ] || fail "The bundle has $bundle_mb MB, more than $most_bundle_mb."
[ "$setup_mb" -le "$most_installer_mb" ] || fail "The installer has $setup_mb MB, more than $most_installer_mb."

step "install"
local_data=$(find "$prefix/drive_c/users" -mindepth 3 -maxdepth 3 -path '*/AppData/Local' -not -path '*/Public/*' | head -n 1)
installed="$local_data/Programs/Praxis Console"
data="$local_data/Praxis Console"
menu=$(dirname "$local_data")/Roaming/Microsoft/Windows/"Start Menu"/Programs
rm -rf "$installed" "$data"
at_most 300 "$setup" /S
diff --recursive --brief "$bundle" "$installed" | grep -v 'uninstall.exe$' && fail "What is installed is not the bundle."
[ -e "$menu/Praxis Console.lnk" ] || fail "There is no shortcut in the Start menu."
grep -q 'P.r.a.x.i.s...C.o.n.s.o.l.e' --binary-files=text "$menu/Praxis Console.lnk" ||
    fail "The shortcut lacks the application id."

step "self-test of the installed program"
at_most 300 "$installed/praxis-console.exe" --self-test --json >"$out/self-test.json" || {
    cat "$out/self-test.json" >&2
    fail "The self-test failed."
}
python3 - "$out/self-test.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert report["passed"] and report["frozen"] and report["drawn_by"] == "windows", report
print(f"         {len(report['checks'])} checks, {report['system']}, drawn by {report['drawn_by']}")
PYTHON
[ "$(at_most 60 "$installed/praxis.exe" --version | tr -d '\r')" = "praxis $version" ] || fail "praxis --version failed."

step "first start"
at_most 300 "$installed/praxis-console.exe" >"$work/console.log" &
console=$!
until grep -qs ' Opened ' "$data/logs/console.log"; do
    kill -0 "$console" 2>/dev/null || { cat "$work/console.log" >&2; fail "The console ended before it opened its data."; }
    sleep 0.5
done
sleep "${PRAXIS_WINE_SETTLE:-15}"
import -window root "$out/window.png"

step "installing over it while it runs: it is asked to quit"
at_most 300 "$setup" /S
wait "$console" || fail "The console ended with exit code $?."
[ ! -e "$data/logs/crash.txt" ] || fail "The console left a crash report."

step "uninstall"
at_most 300 "$installed/uninstall.exe" /S
for _ in $(seq 60); do
    [ -e "$installed" ] || break
    sleep 1
done
[ ! -e "$installed" ] || fail "The program was not removed: $(ls "$installed")"
[ ! -e "$menu/Praxis Console.lnk" ] || fail "The shortcut was not removed."
[ -e "$data/praxis.sqlite" ] || fail "The data folder was not left alone."
at_most 60 reg query 'HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\PraxisConsole' >/dev/null 2>&1 &&
    fail "The entry in the list of programs was not removed."

step "done: bundle $bundle_mb MB, installer $setup_mb MB, in $out"
