"""Do nothing, say so, and end with exit code 1."""

import sys

print("Looking for work to do …", flush=True)
sys.exit("There is none, and this script ends with exit code 1 on purpose.")
