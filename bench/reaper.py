"""Ends what the bench has started when the bench itself cannot: its pipe to us has closed.

Reads `+PID` and `-PID` lines. At the end of the input every process that is still noted, those
below it and those of its session are killed, one by one.
"""

import os
import signal
import sys

from gauge.family import family


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    noted: set[int] = set()
    for line in sys.stdin:
        pid = int(line[1:])
        if line[0] == "+":
            noted.add(pid)
        else:
            noted.discard(pid)
    for pid in family(noted) if noted else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
