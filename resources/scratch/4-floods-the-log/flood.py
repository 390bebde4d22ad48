"""Print as many megabytes of numbered lines as the first argument says."""

import sys

wanted = int(sys.argv[1]) * 1_000_000
written = number = 0
while written < wanted:
    lines = []
    for _ in range(1_000):
        number += 1
        lines.append(f"{number:>9}  the quick brown fox jumps over the lazy dog, again and again and again\n")
    block = "".join(lines)
    sys.stdout.write(block)
    written += len(block)
print(f"All {number} lines were printed.")
