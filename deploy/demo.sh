#!/bin/bash
# Builds rankrun and shows what it is for: two PyTorch workers learn to read digits, one of them is
# killed on the way, and the training still ends well. Takes what it needs from Debian; removes what
# it makes, except build/release and the packages.
# usage: deploy/demo.sh
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."

readonly example=apps/examples/train_digits/train_ddp.py
readonly rankrun=build/release/apps/launch/rankrun
# An epoch takes about 0.2 s. After the kill rank 0 cannot finish another one alone, so all this
# decides is how long a kill may be late: the 18 epochs that are left.
readonly epochs=20
readonly kill_after_epoch=2
readonly required_accuracy=95

say() { echo "demo: $*"; }
fail() { say "FAILED: $*" >&2; exit 1; }

# Prints the interpreter's real path and its torch's version, or fails.
python_with_torch() {
  "$1" -c 'import sys, torch, torch.distributed as d
assert d.is_available()
print(sys.executable, torch.__version__)' 2>/dev/null
}

find_python() {
  local candidate found
  for candidate in "${PYTHON_EXEC:-}" python3 /usr/bin/python3; do
    [[ -n $candidate ]] || continue
    if found=$(python_with_torch "$candidate"); then
      use_python "$found"
      return
    fi
  done
  say "no Python here imports torch: installing Debian's python3-torch (a download of about 260 MB)"
  deploy/setup.sh peers/python3-torch
  found=$(python_with_torch /usr/bin/python3) || fail "/usr/bin/python3 still cannot import torch"
  use_python "$found"
}

use_python() {
  export PYTHON_EXEC=${1% *}
  say "Python: $PYTHON_EXEC with PyTorch ${1##* }"
}

build() {
  deploy/setup.sh build
  say "building rankrun, preset release (a few minutes the first time)"
  cmake --preset release
  cmake --build --preset release --target rankrun
}

# However the demo ends, it leaves no process and no file of the job behind.
clean_up() {
  if [[ -n $job ]] && kill -TERM "$job" 2>/dev/null; then
    say "stopping the job"
    wait "$job" || true
  fi
  rm -rf "$dir"
}

start_job() {
  dir=$(mktemp -d) job=""
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  local command=("$rankrun" --nproc-per-node=2 --max-restarts=3
    "$example" "--epochs=$epochs" "--checkpoint=$dir/digits.pt")
  say "\$ ${command[*]}"
  mkfifo "$dir/output"
  "${command[@]}" >"$dir/output" 2>&1 &
  job=$!
}

# Shows the job's lines as they come; notes what they tell and kills when the time has come. Not tied
# to the start of a line: a worker that was killed may have left the half of one before it.
follow_job() {
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line =~ rank\ 1\ pid\ ([0-9]+) ]]; then
      note_rank_1 "${BASH_REMATCH[1]}"
    elif [[ $line =~ rankrun:.*\ restart\ 1\ of\ .*\ after\ ([0-9.]+\ ms) ]]; then
      restarted_in=${BASH_REMATCH[1]}
    elif [[ $line =~ rank\ 1\ resumes\ after\ epoch\ ([0-9]+) ]]; then
      resumed_after=${BASH_REMATCH[1]}
    elif [[ $line =~ accuracy\ ([0-9.]+)\ % ]]; then
      accuracy=${BASH_REMATCH[1]}
    elif [[ $line == *"epoch $kill_after_epoch of "* && -z $killed ]]; then
      kill_rank_1
    fi
  done <"$dir/output"
}

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

note_rank_1() {
  if [[ -z $killed ]]; then
    first=$1
  elif [[ -z $second ]]; then
    second=$1 back_at=$(now_us)
  fi
}

kill_rank_1() {
  kill -KILL "$first" || fail "rank 1 had no process '$first' to kill"
  killed=$first killed_at=$(now_us)
  say "killed rank 1: kill -KILL $killed"
}

# Says what happened, and fails unless each part of it did.
conclude() {
  say "----"
  [[ -n $killed ]] || fail "the job ended with exit code $code before epoch $kill_after_epoch"
  say "killed       rank 1 (pid $killed) with SIGKILL after epoch $kill_after_epoch"
  [[ -n $second ]] || fail "rank 1 was not restarted"
  local ms=$(((back_at - killed_at) / 1000))
  say "restarted    by rankrun${restarted_in:+ in $restarted_in};" \
    "rank 1 (now pid $second) had imported PyTorch after $ms ms"
  ((resumed_after >= kill_after_epoch)) || fail "the training did not resume from its checkpoint"
  say "resumed      after epoch $resumed_after, from the checkpoint"
  awk -v a="$accuracy" -v r="$required_accuracy" 'BEGIN { exit !(a >= r) }' ||
    fail "accuracy $accuracy % is under $required_accuracy %"
  say "accuracy     $accuracy % on digits held out from the training"
  ((code == 0)) || fail "rankrun's exit code was $code"
  say "exit code    0"
}

main() {
  find_python
  build
  first="" killed="" killed_at=0 second="" back_at=0
  restarted_in="" resumed_after=0 accuracy=0 code=0
  start_job
  follow_job
  wait "$job" || code=$?
  job=""
  conclude
}

main "$@"
