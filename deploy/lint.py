#!/usr/bin/env python3
"""Runs clang over every file of a compile database, as a gate.

usage: deploy/lint.py syntax|tidy BUILD_FOLDER

`syntax` compiles without output: clang 14 warns about a discarded await, g++ 12 does not. `tidy`
runs clang-tidy. A file costs seconds, so one that passed is run again only when something
changed: the file, the headers of ours that it includes, its compile command, the tool's version,
.clang-tidy. What passed is remembered in ccache's folder, which lives as long as builds are cached.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
REMEMBERED_S = 90 * 24 * 3600


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def with_own_headers(file: Path) -> list[Path]:
    """The file and the headers of ours that it includes, directly or not."""
    seen, todo = set(), [file]
    while todo:
        path = todo.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_bytes()):
            todo += [ROOT / name.decode(), path.parent / name.decode()]
    return sorted(seen)


def lint_command(tool: str, build: Path, entry: dict) -> list[str]:
    if tool == "tidy":
        return ["clang-tidy", "-p", str(build), "--quiet", entry["file"]]
    words = shlex.split(entry["command"])
    if Path(words[0]).name == "ccache":
        del words[0]
    at = words.index("-o")
    del words[at : at + 2]
    return words + ["-fsyntax-only"]


def key(context: str, entry: dict) -> str:
    """Names all that a verdict depends on; the checkout's own path is not part of it."""
    digest = hashlib.sha256()
    digest.update((context + entry["command"]).replace(str(ROOT), ".").encode())
    for path in with_own_headers(Path(entry["file"])):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def passes(command: list[str], entry: dict) -> bool:
    run = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    if run.returncode != 0:
        print(f"{entry['file']}:\n{run.stdout}{run.stderr}", flush=True)
    return run.returncode == 0


def forget_old(remembered: Path) -> None:
    for path in remembered.iterdir():
        if time.time() - path.stat().st_mtime > REMEMBERED_S:
            path.unlink(missing_ok=True)


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("syntax", "tidy"):
        sys.exit("usage: deploy/lint.py syntax|tidy BUILD_FOLDER")
    tool, build = sys.argv[1], Path(sys.argv[2]).resolve()
    remembered = Path(output_of("ccache", "--get-config", "cache_dir")) / "rankrun-lint"
    remembered.mkdir(parents=True, exist_ok=True)
    forget_old(remembered)

    context = output_of("clang-tidy" if tool == "tidy" else "clang++", "--version")
    context += (ROOT / ".clang-tidy").read_text() if tool == "tidy" else ""

    def lint(entry: dict) -> str:
        stamp = remembered / f"{tool}-{key(context, entry)}"
        known = stamp.exists()
        if not known and not passes(lint_command(tool, build, entry), entry):
            return "failed"
        stamp.touch()
        return "known" if known else "passed"

    entries = json.loads((build / "compile_commands.json").read_text())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lint, entries))
    known, failed = results.count("known"), results.count("failed")
    print(f"lint: {len(entries)} files, {known} unchanged since they passed, {failed} failed")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
