"""Writes numbered lines, ten thousand a second, until it is ended."""

import itertools
import sys
import time

for number in itertools.count():
    sys.stdout.write(f"line {number}\n")
    if number % 100 == 0:
        sys.stdout.flush()
        time.sleep(0.01)
