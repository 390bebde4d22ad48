"""What the frozen ``praxis`` begins with."""

import sys

from engine.interfaces.frozen import leave_no_trace, served

leave_no_trace(sys._MEIPASS)  # noqa: SLF001 - PyInstaller's own name for the bundle's folder
code = served(sys.argv[1:])
if code is None:
    from engine.interfaces.entry import main

    main()
sys.exit(code)
