"""Start a child that is detached from this process, and end without waiting for it."""

import subprocess
import sys

interpreter = [sys.executable, "run-script"] if getattr(sys, "frozen", False) else [sys.executable]
options = (
    {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    if sys.platform == "win32"
    else {"start_new_session": True}
)
child = subprocess.Popen(
    [*interpreter, "write_later.py"],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
    **options,
)
print(f"Started process {child.pid}, which would write marker.txt in 30 seconds. This script ends now.")
