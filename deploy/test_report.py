#!/usr/bin/env python3
"""Sums up a run of deploy/test.sh: what failed, what was skipped and why, and one last line.

usage: deploy/test_report.py RESULTS_FOLDER

Reads ctest's JUnit files (one per preset, *.xml) and gates.tsv (name, outcome, reason per line).
"""

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Iterator, NamedTuple

REASON = re.compile(r"^.*SKIPPED: (.*)$", re.MULTILINE)


class Result(NamedTuple):
    name: str
    outcome: str  # passed, failed or skipped
    reason: str


def judge(case: xml.Element) -> tuple[str, str]:
    """Returns outcome and reason. Only a test that says why is skipped: ctest also calls one
    skipped that it could not start, and one that failed after it printed the word."""
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed", ""
    if case.get("status") == "run":
        return "passed", ""
    output = case.findtext("system-out") or ""
    reason = REASON.search(output)
    if reason is None or "FAILED:" in output:
        return "failed", f"not run: {case.get('status')}"
    return "skipped", reason[1].strip()


def read(folder: Path) -> Iterator[Result]:
    gates = folder / "gates.tsv"
    for line in gates.read_text().splitlines() if gates.exists() else []:
        yield Result(*line.split("\t"))
    for file in sorted(folder.glob("*.xml")):
        for case in xml.parse(file).getroot().iter("testcase"):
            yield Result(f"{file.stem}: {case.get('name')}", *judge(case))


def main() -> int:
    results = list(read(Path(sys.argv[1])))
    for wanted in ("skipped", "failed"):
        for result in results:
            if result.outcome == wanted:
                print(f"{wanted}: {result.name}" + (f" ({result.reason})" if result.reason else ""))
    outcomes = [result.outcome for result in results]
    passed, failed = outcomes.count("passed"), outcomes.count("failed")
    print(f"{passed} passed, {failed} failed, {outcomes.count('skipped')} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
