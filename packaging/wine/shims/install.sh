#!/usr/bin/env bash
# install.sh PREFIX: compile stand-ins for parts of Windows 10 that Wine lacks, and put them into this Wine prefix.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
system=$1/drive_c/windows/system32
compile() {
    x86_64-w64-mingw32-gcc -shared -O1 -s -Wall -nostdlib -Wl,-e,0 -o "$system/$1.dll" "$here/$1.c" "${@:2}"
}
for library in icuuc bcryptprimitives; do
    [ ! -e "$system/$library.dll" ] || continue
    case $library in
    icuuc) compile icuuc ;;
    bcryptprimitives) compile bcryptprimitives -ladvapi32 ;;
    esac
done
