#!/bin/bash
# Builds and tests everything, as CI does. The last line of output is the sum:
# "N passed, N failed, N skipped"; exit 0 only when nothing failed.
# usage: deploy/test.sh [--peers]
#   --peers   also installs other people's programs and runs the tests that need them
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."
# shellcheck source=deploy/peers.env
source deploy/peers.env

readonly results=$PWD/build/results
readonly sources=(apps agent rendezvous store collectives tests)
readonly torch_venv=${XDG_CACHE_HOME:-$HOME/.cache}/rankrun/torch-$TORCH_VERSION
readonly install_tries=3
# CI ends a run at minute 90: past minute 70 proofs read their size from RANKRUN_PROOF_SCALE.
readonly full_size_s=$((70 * 60))

say() { echo "test: $*"; }

# Runs a command, prints its time, leaves its status in `code`. Not to be called after `if` or
# before `||`: bash would drop `set -e` inside.
step() {
  local name=$1 start=$SECONDS
  shift
  if ((SECONDS > full_size_s)) && [[ $RANKRUN_PROOF_SCALE == 1 ]]; then
    export RANKRUN_PROOF_SCALE=0.1
    say "past minute 70: what is left runs at a tenth of its size"
  fi
  set +e
  (set -e; "$@")
  code=$?
  set -e
  echo "== step $name: $((SECONDS - start)) s"
}

# record NAME passed|failed|skipped REASON: the result of what is not a ctest test.
record() { printf '%s\t%s\t%s\n' "$@" >>"$results/gates.tsv"; }

# A step that counts as one test.
gate() {
  step "$@"
  if ((code == 0)); then
    record "$1" passed ""
  else
    record "$1" failed "its output is above"
  fi
}

# --- Peers ---
# Tests find a peer by RANKRUN_PEER_PYTHON_* and RANKRUN_PEER_TORCHRUN_*, else the reason of its
# absence in RANKRUN_PEER_SKIP_REASON_*.

install_torch() {
  local packages="${TORCH_PACKAGES[*]}" stamp=$torch_venv/rankrun-complete try
  mkdir -p "${torch_venv%/*}"
  exec 9>"$torch_venv.lock"
  flock 9 # two runs on one machine share the folder
  # The stamp is written last, so a folder without it is half made.
  if [[ -e $stamp && $(<"$stamp") == "$packages" ]]; then
    say "PyTorch $TORCH_VERSION is in $torch_venv"
    return
  fi
  for ((try = 1; try <= install_tries; ++try)); do
    say "installing $packages into $torch_venv (about 100 s, 5.4 GB; try $try of $install_tries)"
    rm -rf "$torch_venv"
    if /usr/bin/python3 -m venv "$torch_venv" &&
      "$torch_venv/bin/pip" install --quiet --no-input --no-cache-dir --disable-pip-version-check \
        "${TORCH_PACKAGES[@]}"; then
      echo "$packages" >"$stamp"
      return
    fi
  done
  return 1
}

skip_peers() { export RANKRUN_PEER_SKIP_REASON_DEBIAN=$1 RANKRUN_PEER_SKIP_REASON_NEWEST=$1; }

install_peers() {
  step "install peers" deploy/setup.sh peers
  if ((code != 0)); then
    skip_peers "deploy/setup.sh peers failed, see the top of the output"
    # Three failed tries are the network's fault and a skip; anything else is ours.
    ((code == 75)) || record "install peers" failed "deploy/setup.sh peers ended with $code"
    return
  fi
  export RANKRUN_PEER_PYTHON_DEBIAN=/usr/bin/python3
  step "install PyTorch $TORCH_VERSION" install_torch
  if ((code == 0)); then
    export RANKRUN_PEER_PYTHON_NEWEST=$torch_venv/bin/python
    export RANKRUN_PEER_TORCHRUN_NEWEST=$torch_venv/bin/torchrun
  else
    export RANKRUN_PEER_SKIP_REASON_NEWEST="pip failed $install_tries times, see above"
  fi
}

# --- Builds and tests ---

build() {
  cmake --preset "$1"
  cmake --build --preset "$1"
}

# test_preset PRESET CTEST_ARGUMENT...
test_preset() {
  local preset=$1 junit=$results/$1.xml
  export RANKRUN_DROPIN_RESULTS=$results/dropin-$1
  shift
  step "$preset build" build "$preset"
  if ((code != 0)); then
    record "$preset build" failed "its tests did not run"
    return
  fi
  step "$preset tests" "${launcher[@]}" ctest --preset "$preset" -j4 --output-on-failure \
    --no-tests=error --output-junit "$junit" --test-output-size-passed 65536 "$@"
  # A failed test is in the report; a ctest that failed by itself is in none.
  if ((code != 0)) && ! grep -qs '<failure' "$junit"; then
    record "$preset tests" failed "ctest ended with $code"
  fi
}

# g++ 12's thread sanitizer dies at start where the kernel spreads addresses over more than 28 bits.
test_tsan() {
  local bits launcher=()
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null) || bits=unknown
  if [[ $bits == unknown ]] || ((bits > 28)); then
    launcher=(setarch "$(uname -m)" -R)
    if ! "${launcher[@]}" true; then
      record tsan skipped "vm.mmap_rnd_bits is $bits and setarch -R is refused"
      return
    fi
  fi
  test_preset tsan -L '^(unit|conformance)$'
}

# --- Gates ---

our_files() { find "${sources[@]}" "$@" 2>/dev/null || true; } # not every folder exists yet

check_format() {
  our_files \( -name '*.h' -o -name '*.cc' \) -print0 | xargs -0 -r clang-format --dry-run -Werror
}

check_scripts() { shellcheck -x deploy/*.sh .ci/run; }

check_todos() {
  local found
  found=$(our_files -type f -exec grep -n 'TODO(now)' {} +) || true
  [[ -z $found ]] || { echo "$found" && return 1; }
}

# The differences from torchrun that agent/README.md tells are those of this run.
check_dropin_table() {
  if [[ -n ${RANKRUN_PEER_TORCHRUN_NEWEST-} ]]; then
    gate "table of differences" deploy/dropin_table.py --check "$results/dropin-release"
  else
    record "table of differences" skipped "$RANKRUN_PEER_SKIP_REASON_NEWEST"
  fi
}

# A short form of what `rankbench orphans` does in full.
hunt_orphans() {
  local hunts=100
  [[ $RANKRUN_PROOF_SCALE == 1 ]] || hunts=10
  build/release/apps/bench/rankbench orphans --hunts "$hunts" --torchrun-hunts 0
}

main() {
  local with_peers=no code launcher=()
  case "$*" in
    "") ;;
    --peers) with_peers=yes ;;
    *) echo "usage: deploy/test.sh [--peers]" >&2 && exit 2 ;;
  esac
  # CI builds each clone in another folder: without these two, ccache finds nothing.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  export RANKRUN_PROOF_SCALE=1
  unset "${!RANKRUN_PEER_@}"
  rm -rf "$results"
  mkdir -p "$results"

  step install deploy/setup.sh build test
  if ((code != 0)); then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
  fi
  if [[ $with_peers == yes ]]; then
    install_peers
  else
    skip_peers "run deploy/test.sh --peers to install the PyTorch it needs"
  fi

  gate "clang-format" check_format
  gate "shellcheck" check_scripts
  gate "no TODO(now)" check_todos
  test_preset release
  check_dropin_table
  gate "orphan hunts" hunt_orphans
  test_preset asan -LE '^(peer|long|gpu)$'
  test_tsan
  step "clang configure" cmake --preset clang
  gate "clang syntax" deploy/lint.py syntax build/clang
  gate "clang-tidy" deploy/lint.py tidy build/clang

  echo "== all steps: $SECONDS s"
  deploy/test_report.py "$results"
}

main "$@"
