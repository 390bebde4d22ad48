"""Wait for 30 seconds, then write a marker that nobody should ever see."""

import time
from pathlib import Path

time.sleep(30)
Path("marker.txt").write_text("A child outlived the step that had started it.\n", encoding="utf-8")
