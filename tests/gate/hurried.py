"""Switchboard whose questions and whose patience end soon.

python hurried.py TTL_S HOLD_S WORD…

Everything else is as it is; the same program runs, in a process of its own.
"""

import sys

from switchboard.approvals import queue, request
from switchboard.approvals.store import question_table
from switchboard.entry import main

ttl_s, hold_s = map(float, sys.argv[1:3])
setattr(request, "WAIT_S", ttl_s)  # noqa: B010 - a constant to everybody else
setattr(queue, "TTL_S", ttl_s)  # noqa: B010
setattr(question_table, "TTL_S", ttl_s)  # noqa: B010
setattr(request, "HOLD_S", hold_s)  # noqa: B010
sys.argv[:] = ["switchboard", *sys.argv[3:]]
sys.exit(main())
