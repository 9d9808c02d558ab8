"""The verdict, counted from outside: what tools wrote, what was recorded, what clients saw."""

import json
import re
from collections import Counter
from itertools import pairwise

from judge.record import Deed, Trouble
from judge.stage import ON_CRASH, REVIEWED, Stage
from switchboard.approvals.queue import PENDING_PER_SESSION, STALE_S
from team.ground import team_log

CALLS = ("note", "linger", "write")
# What a client may be told of a call that was open on a gateway when it was killed. The second
# and the third are of the SDK: the load balancer answered with 502, or the stream just ended.
_ENDED = re.compile(
    r"the gateway of this request ended before it answered"
    r"|Server returned an error response"
    r"|SSE stream ended (without a response|and reconnection attempts were exhausted)"
    r"|there is no such session any more, so the answer to what was under way in it is lost"
    # The answer of a person was on its way through it: nobody knows, and the question ends in time.
    r"|nobody decided in time whether"
    r"|`requestState` is unknown, spent or of another request"
)
# The same of one that needed the database while it was away.
_AWAY = re.compile(
    r"(approvals|runs|the audit log|records?|results)\b.* cannot be (read or )?(written|used) now"
    r"|the database cannot be used now"
    r"|the audit log cannot be written \(its database cannot be used\)"
    r"|was withdrawn before anybody answered"
)
# And of one whose client asked three times on gateways that were killed then: those questions wait.
_FULL = re.compile(r"3 questions of this session are already waiting for an answer")
_INTERRUPTED = re.compile(r"was interrupted because the process that ran it ended")


def complaints(stage: Stage) -> list[str]:
    """Everything that is not as it should be, in words; nothing where all is well."""
    record = stage.record
    written = record.written()
    found = [f"done {count} times: {name}" for name, count in written.items() if count > 1]
    for deed in record.of(*CALLS):
        if deed.is_done and written[deed.name] != 1:
            found.append(f"lost: {deed}")
        if deed.is_done and deed.answer != f"noted: {deed.name}":
            found.append(f"a wrong answer: {deed}")
    found += [
        f"a wrong answer: {deed}"
        for deed in record.of("reviewer")
        if deed.is_done and deed.answer != REVIEWED
    ]
    for deed in record.of(*ON_CRASH):
        found += _of_run(stage, deed)
    for deed in record.deeds:
        if not deed.is_done and not _is_explained(deed, record.hurt_by(deed), record.troubles):
            found.append(f"a failure that nothing explains: {deed}")
    return found


def _of_run(stage: Stage, deed: Deed) -> list[str]:
    lines = [line for line in stage.staff.log() if line.task == deed.name]
    whats = Counter(line.what for line in lines)
    attempts = whats["begin"] + whats["loaded"]
    found: list[str] = []
    hits = [each for each in stage.record.hurt_by(deed) if _is_of_workers(each)]
    if deed.is_done and deed.answer != f"did {deed.name}":
        found.append(f"a wrong answer: {deed}")
    # An engine may have ended just before its worker, who then could not write it down.
    if deed.is_done and not 1 <= whats["end"] <= 1 + len(hits):
        found.append(f"ended {whats['end']} times: {deed}")
    if attempts > (1 if deed.kind == "fail" else 1 + len(hits)):
        found.append(f"attempted {attempts} times with {len(hits)} reasons: {deed}")
    for before, after in pairwise(dict.fromkeys(line.pid for line in lines)):
        last = max(line.at for line in lines if line.pid == before)
        if last >= min(line.at for line in lines if line.pid == after):
            found.append(f"two engines at once: {deed}")
    return found


def _is_of_workers(trouble: Trouble) -> bool:
    return trouble.part.startswith("wk") or trouble.part == "db"


def _is_explained(deed: Deed, troubles: list[Trouble], all_: list[Trouble]) -> bool:
    """Whether a failure is of something that was open on what was hit, and says so plainly."""
    before = [each for each in all_ if 0 < deed.began - each.at < STALE_S and each.what == "kill"]
    if _FULL.search(deed.words) and len(before) >= PENDING_PER_SESSION:
        return True
    for each in troubles:
        if each.part.startswith("gw") and each.what == "kill" and _ENDED.search(deed.words):
            return True
        if each.part == "db" and _AWAY.search(deed.words):
            return True
        if _is_of_workers(each) and deed.kind == "fail" and _INTERRUPTED.search(deed.words):
            return True
    return False


async def judged(stage: Stage) -> None:
    """Raise AssertionError with every complaint."""
    found = complaints(stage)
    assert not found, "\n".join([*found, *map(str, stage.record.troubles)])
    record = stage.record
    crossed = Counter(
        deed.era for deed in record.of("write") if deed.is_done and len(deed.gateways) > 1
    )
    assert len(crossed) == 2, "no question was answered at another gateway than it was asked at"
    await _recorded(stage)


async def _recorded(stage: Stage) -> None:
    """Every chain is whole, and nothing was written without its record before it."""
    log = team_log(stage.database.url)
    try:
        found = await log.verify()
        bodies = [json.loads(row.body) async for row in log.read()]
    finally:
        await log.aclose()
    assert found.findings == ()
    # What stands there of arguments is made with a key of the log: each is another one.
    started = {
        body["args_sha256"]
        for body in bodies
        if (body.get("event"), body.get("tool")) == ("tool.call.started", "write")
    }
    writes = {deed.name for deed in stage.record.of("write")}
    written = [name for name in stage.record.written() if name in writes]
    assert 0 < len(written) <= len(started), "something was written without a record before it"
