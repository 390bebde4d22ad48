"""What the frozen ``praxis-console`` and ``praxis-console-debug`` begin with."""

import sys

from engine.interfaces.frozen import leave_no_trace, served

leave_no_trace(sys._MEIPASS)  # noqa: SLF001 - PyInstaller's own name for the bundle's folder
code = served(sys.argv[1:])
if code is None:
    from app.__main__ import main

    code = main()
sys.exit(code)
