"""Which tests are for Linux alone, by the words that they use. No test is skipped by hand.

On another system a file that names what only Linux has is not collected. What is left is judged
there by the real kernel; the contract of the platform always is.
"""

import re

_ONLY_LINUX = re.compile(
    r"/proc/|pidfd_open|\bunshare\b|prlimit|as_darwin|without_calls|\bbwrap\b|/sys/fs/cgroup"
    r"|\bplatform\.linux\b|support\.mounted"
)


def is_for_linux(text: str) -> bool:
    """Whether the text of a file of tests names what only Linux has."""
    return _ONLY_LINUX.search(text) is not None
