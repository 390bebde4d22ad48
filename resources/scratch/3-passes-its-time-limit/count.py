"""Count to 120, one number a second, and keep the number in a file."""

import time
from pathlib import Path

for number in range(1, 121):
    print(f"{number} of 120", flush=True)
    Path("count.txt").write_text(f"{number}\n", encoding="utf-8")
    time.sleep(1)
print("Counted to the end.")
