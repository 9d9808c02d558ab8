"""Results of the echo child."""

import json

from support.workspace import Json


def pid_in(result: Json) -> int:
    """The process that the echo child tells of: its own result is the text of the suite's."""
    inner = json.loads(result["content"][0]["text"])
    told: Json = json.loads(inner["content"][0]["text"])
    pid: int = told["pid"]
    return pid
