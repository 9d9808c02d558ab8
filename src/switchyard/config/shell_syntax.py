"""Recognises command lines that only a shell understands, so that they can be told from others."""

import re
from collections.abc import Sequence

_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh", "env", "cmd")
_OPERATORS = ("&&", "||", "|", ";", "&")
_BUILTINS = ("cd", "export", "source", ".", "set", "ulimit", "exec", "eval")
# Compiled at the first line that is looked at: most have no such word.
_REDIRECTION = r"(?:\d?>>?|<)(?:&\d|\S*)"
_ASSIGNMENT = r"[A-Za-z_]\w*=(?s:.*)"
_VARIABLE = r"\$\{?[A-Za-z_]\w*\}?"


def shell_syntax(words: Sequence[str]) -> str | None:
    """The first part of the line that a program would be handed as it is, but a shell would not.

    What follows a shell (`sh -c "…"`) is that shell's own affair.
    """
    first = words[0].rpartition("/")[2]
    if first in _SHELLS:
        return None
    if first in _BUILTINS or re.fullmatch(_ASSIGNMENT, words[0]):
        return words[0]
    for word in words[1:]:
        if word.isalnum():
            continue
        if word in _OPERATORS or re.fullmatch(_REDIRECTION, word) or re.fullmatch(_VARIABLE, word):
            return word
        if word.endswith(";") and len(word) > 1:
            return ";"
    return None
