#!/usr/bin/env python3
"""Writes the table "Compared with torchrun" in agent/README.md, or checks the one that is there.

usage: deploy/dropin_table.py [--check] RESULTS_FOLDER

Reads rankrun.tsv and torchrun.tsv, to which every case of tests/dropin/ has appended a line: source
file, line, name, outcome (passes, differs or fails), and why torchrun differs. With --check the
README is left alone; exit 1 when its table is another one, a case has no result or rankrun fails.
"""

import difflib
import sys
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parent.parent / "agent" / "README.md"
PEERS = Path(__file__).resolve().parent / "peers.env"
BEGIN = "<!-- written by deploy/dropin_table.py -->\n"
END = "<!-- end of what deploy/dropin_table.py writes -->\n"


class Outcome(NamedTuple):
    source: str
    line: int
    verdict: str
    reason: str


MISSING = Outcome("", 0, "no result", "")
Results = dict[str, Outcome]  # by the case's name


def read(file: Path) -> Results:
    """The last result of each case."""
    results = {}
    for text in file.read_text().splitlines() if file.exists() else []:
        source, line, name, verdict, reason = text.split("\t")
        results[name] = Outcome(source, int(line), verdict, reason)
    return results


def in_source_order(rankrun: Results, torchrun: Results) -> list[str]:
    everything = torchrun | rankrun
    return sorted(everything, key=lambda name: everything[name][:2])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(rankrun: Results, torchrun: Results) -> str:
    version = dict(
        line.split("=", 1) for line in PEERS.read_text().splitlines() if line.startswith("TORCH_V")
    )["TORCH_VERSION"]
    cases = in_source_order(rankrun, torchrun)
    differing = sum(outcome.verdict == "differs" for outcome in torchrun.values())
    lines = [
        f"{len(cases)} cases of `tests/dropin/`, each run through rankrun and through torchrun "
        f"{version}, which",
        f"differs in {differing}.",
        "",
        "| case | rankrun | torchrun | difference |",
        "|---|---|---|---|",
    ]
    for case in cases:
        ours, theirs = rankrun.get(case, MISSING), torchrun.get(case, MISSING)
        row = [case, ours.verdict, theirs.verdict, theirs.reason]
        lines.append("| " + " | ".join(map(cell, row)) + " |")
    return "\n".join(lines) + "\n"


def troubles(rankrun: Results, torchrun: Results) -> list[str]:
    found = []
    for case in in_source_order(rankrun, torchrun):
        for launcher, results in (("rankrun", rankrun), ("torchrun", torchrun)):
            verdict = results.get(case, MISSING).verdict
            if verdict in ("fails", MISSING.verdict):
                found.append(f"{launcher}: {verdict}: {case}")
    return found or ([] if rankrun else ["no results at all"])


def main() -> int:
    arguments = sys.argv[1:]
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check:
        sys.exit("usage: deploy/dropin_table.py [--check] RESULTS_FOLDER")
    folder = Path(arguments[-1])
    rankrun, torchrun = read(folder / "rankrun.tsv"), read(folder / "torchrun.tsv")

    old = README.read_text()
    head, found_begin, rest = old.partition(BEGIN)
    _, found_end, tail = rest.partition(END)
    if not found_begin or not found_end:
        sys.exit(f"{README} does not have the two markers of the table")
    new = head + BEGIN + table(rankrun, torchrun) + END + tail

    trouble = troubles(rankrun, torchrun)
    for line in trouble:
        print(line, file=sys.stderr)
    if not is_check:
        README.write_text(new)
    elif new != old:
        sys.stdout.writelines(
            difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), str(README), "this run", n=0
            )
        )
        print(f"the table is another one: run deploy/dropin_table.py {folder}", file=sys.stderr)
    return 1 if trouble or (is_check and new != old) else 0


if __name__ == "__main__":
    sys.exit(main())
