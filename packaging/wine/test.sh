#!/usr/bin/env bash
# test.sh [PYTEST ARGUMENTS]: the Windows side of everything that differs between systems, in the Windows Python under Wine:
# processes in jobs, the named pipe, paths, the lock on the data folder, renames, storage and recovery after kills.
# With arguments, pytest gets those instead of the list below. Windows itself is still another matter, see the README here.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
need_packages
need_tools
need_windows_python
need_windows_packages
need_wine
cd "$root"

if [ $# -eq 0 ]; then
    set -- \
        tests/crash \
        tests/execution/test_artifacts.py \
        tests/execution/test_blobs.py \
        tests/execution/test_evidence.py \
        tests/execution/test_process.py \
        tests/execution/test_process_windows.py \
        tests/execution/test_windows_arguments.py \
        tests/interfaces/test_channel.py \
        tests/interfaces/test_frozen.py \
        tests/scheduling \
        tests/storage \
        tests/test_files.py \
        tests/workspace
fi
step "tests in the Windows Python"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH
PYTHONPATH="$(windows_path "$here/site");$(windows_path "$test_packages")"
status=0
at_most 3600 "$windows_python/python.exe" -m pytest -p no:cacheprovider --timeout 300 "$@" || status=$?
step "done"
exit "$status"
