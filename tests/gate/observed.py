"""Switchboard that notes what blocks: who opens, locks, connects or starts something, and where.

python observed.py NOTES WORD…

Everything else is as it is; the same program runs, in a process of its own. Each line of the notes
is `loop` or `thread`, the event of the interpreter, what it was about, and who did it.
"""

import asyncio
import fcntl
import os
import sys
from typing import Any

NOTES = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
WANTED = {"sqlite3.connect", "fcntl.flock", "fcntl.lockf", "subprocess.Popen", "open"}


def note(event: str, details: tuple[Any, ...]) -> None:
    if event not in WANTED:
        return
    # The loop of this thread; on others there is none.
    where = "loop" if asyncio._get_running_loop() is not None else "thread"  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue]
    who = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names: list[str] = []
    while who is not None:
        names.append(os.path.basename(who.f_code.co_filename))  # noqa: PTH119 - no Path in a hook
        who = who.f_back
    # A lock that is only tried for holds nobody.
    tries = event == "fcntl.flock" and details[1] & fcntl.LOCK_NB
    about = "tried" if tries else repr(details[0])
    line = f"{where}\t{event}\t{about}\t{' '.join(names)}\n"
    os.write(NOTES, line.encode("utf-8", "replace"))


sys.addaudithook(note)
from switchboard.entry import main  # noqa: E402 - what it loads is noted, too

sys.argv[:] = ["switchboard", *sys.argv[2:]]
sys.exit(main())
