"""How well `switchboard find` finds: recall, and what a search costs.

    .venv/bin/python bench/find.py               # our own queries over the reference servers
    .venv/bin/python bench/find.py --data DIR    # a labelled set: catalog.jsonl, queries.jsonl
    .venv/bin/python bench/find.py --data DIR --scale    # with its distractors.jsonl
    .venv/bin/python bench/find.py --data DIR --words    # with what its servers.jsonl say

A query is right when one of its tools comes first, or among the first five. `macro` is the mean of
the kinds of queries. Unanswerable queries have no tool; `separation` is how surely their best score
is below that of others (AUROC). The search is scored through the command, as anybody would use it.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from compileall import compile_dir
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gauge.row import SCRIPTS

from switchboard import search
from switchboard.search.finder import Finder, FoundTool

OWN = Path(__file__).parent / "find_queries.json"
NODE = Path(__file__).parents[1] / "tests" / "node" / "node_modules" / "@modelcontextprotocol"
HEADLINE = ("single_named", "single_equiv", "terse", "intent", "own")
Json = dict[str, Any]
Address = tuple[str, str]


class Query(NamedTuple):
    """What is looked for, and what would be right: for each tool that it takes, any of these."""

    track: str
    kind: str
    text: str
    right: list[list[Address]]


class Ranked(NamedTuple):
    """An answer: the addresses in order, and the score of the first."""

    found: list[Address]
    best: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="a labelled set of queries")
    parser.add_argument("--scale", action="store_true", help="with tools that are never right")
    parser.add_argument("--words", action="store_true", help="with what servers say of themselves")
    options = parser.parse_args()
    words = server_words(options.data) if options.words else {}
    queries, catalogues = labelled(options.data, scale=options.scale) if options.data else own()
    recalls: dict[str, list[tuple[float, float]]] = defaultdict(list)
    possible: list[float] = []
    impossible: list[float] = []
    for track, tools in catalogues.items():
        asked = [query for query in queries if query.track == track]
        began = time.perf_counter()
        for query, answer in zip(asked, ranked(tools, asked, words), strict=True):
            (possible if query.right else impossible).append(answer.best)
            if query.right:
                recalls[query.kind].append((recall(query, answer, 1), recall(query, answer, 5)))
        took = 1000 * (time.perf_counter() - began)
        print(f"{track}: {len(tools)} tools, {len(asked)} queries, {took / len(asked):.1f} ms each")
        median, slow = processor_ms(tools, asked)
        print(f"  of the processor: {median:.2f} ms each, {slow:.2f} ms at the 95th percentile")
    for kind, found in sorted(recalls.items()):
        first, five = mean(a for a, _ in found), mean(b for _, b in found)
        print(f"{kind:20} {len(found):5} {first:6.1%} {five:6.1%}")
    heads = [recalls[kind] for kind in HEADLINE if kind in recalls]
    first = mean(mean(a for a, _ in found) for found in heads)
    five = mean(mean(b for _, b in found) for found in heads)
    print(f"{'macro':20} {'':5} {first:6.1%} {five:6.1%}")
    print(f"import of the search: {import_ms():.1f} ms of the processor")
    if impossible:
        print(f"separation {separation(possible, impossible):.3f}")
    return 0


def processor_ms(tools: list[Json], queries: list[Query]) -> tuple[float, float]:
    """What a search costs once there is an index: the median, and the 95th percentile."""
    finder = Finder(
        [
            FoundTool(
                each["server"], each["name"], each["description"] or "", each["inputSchema"] or {}
            )
            for each in tools
        ]
    )
    took: list[float] = []
    for query in queries:
        began = time.process_time()
        finder.find(query.text)
        took.append(1000 * (time.process_time() - began))
    took.sort()
    return took[len(took) // 2], took[int(0.95 * len(took))]


def import_ms() -> float:
    """What loading the search costs above an empty program, once compiled: the least of several."""
    compile_dir(Path(search.__file__).parent, quiet=1)

    def least(code: str) -> float:
        return min(_processor_s([sys.executable, "-c", code]) for _ in range(10))

    return 1000 * (least("import switchboard.search.finder") - least(""))


def _processor_s(command: list[str]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def server_words(folder: Path) -> dict[str, str]:
    lines = (folder / "servers.jsonl").read_text("utf-8").splitlines()
    return {each["server"]: each["description"] or "" for each in map(json.loads, lines)}


def ranked(tools: list[Json], queries: list[Query], words: dict[str, str]) -> Iterator[Ranked]:
    """Ask the command, all queries at once."""
    with TemporaryDirectory(prefix="find-") as folder:
        path = Path(folder) / "catalogue.json"
        path.write_text(json.dumps({"tools": tools, "servers": words}), "utf-8")
        lines = "".join(json.dumps({"query": query.text}) + "\n" for query in queries)
        command = [SCRIPTS / "switchboard", "find", "--batch", "--json", "--catalogue", path]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        results = json.loads(line)["results"]
        found = [(each["server"], each["name"]) for each in results]
        yield Ranked(found, results[0]["score"] if results else 0.0)


def recall(query: Query, answer: Ranked, most: int) -> float:
    first = set(answer.found[:most])
    return mean(bool(first.intersection(slot)) for slot in query.right)


def separation(higher: list[float], lower: list[float]) -> float:
    wins = sum((a > b) + 0.5 * (a == b) for a in higher for b in lower)
    return wins / (len(higher) * len(lower))


def mean(values: Iterable[float]) -> float:
    counted = list(values)
    return sum(counted) / len(counted) if counted else 0.0


def labelled(folder: Path, *, scale: bool) -> tuple[list[Query], dict[str, list[Json]]]:
    """The queries of a folder, and the catalogue of each of its tracks."""

    def lines(name: str) -> list[Json]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]

    queries = [
        Query(
            each["track"],
            each["kind"],
            each["query"],
            [[(server, tool) for server, tool in slot] for slot in each["gold"]],
        )
        for each in lines("queries.jsonl")
    ]
    more = [tool(each) for each in lines("distractors.jsonl")] if scale else []
    catalogues: dict[str, list[Json]] = defaultdict(list)
    for each in lines("catalog.jsonl"):
        catalogues[each["track"]].append(tool(each))
    return queries, {track: tools + more for track, tools in catalogues.items()}


def tool(each: Json) -> Json:
    members = ("server", "description", "inputSchema")
    return {"name": each["tool"], **{name: each[name] for name in members}}


def own() -> tuple[list[Query], dict[str, list[Json]]]:
    """Our own queries, and the tools of the reference servers as they list them now."""
    with TemporaryDirectory(prefix="find-") as folder:
        home = Path(folder)
        (home / "mcp.json").write_text(json.dumps({"mcpServers": servers(home)}), "utf-8")
        env = {**os.environ, "HOME": folder, "SWITCHBOARD_HOME": folder}
        command = [SCRIPTS / "switchboard", "introspect", "--full", "--json", "--in-process"]
        (home / "work").mkdir()
        done = subprocess.run(
            command, cwd=home / "work", env=env, capture_output=True, text=True, check=True
        )
    tools = [
        {
            "server": suite["suite"].removesuffix("_suite"),
            "name": each["name"],
            "description": each["summary"],
            "inputSchema": each["inputSchema"],
        }
        for suite in json.loads(done.stdout)["suites"]
        for each in suite["tools"]
    ]
    queries = [
        Query("reference", "own", text, [[(server, name)]] if server else [])
        for text, server, name in json.loads(OWN.read_text("utf-8"))
    ]
    return queries, {"reference": tools}


def servers(home: Path) -> Json:
    def node(package: str, *args: str) -> Json:
        return {"command": "node", "args": [str(NODE / package / "dist" / "index.js"), *args]}

    return {
        "everything": node("server-everything"),
        "memory": node("server-memory"),
        "files": node("server-filesystem", str(home)),
        **{
            name: {"command": str(SCRIPTS / f"mcp-server-{name}")}
            for name in ("git", "time", "fetch")
        },
    }


if __name__ == "__main__":
    sys.exit(main())
