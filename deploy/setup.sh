#!/bin/bash
# Installs the Debian packages of sections of packages.txt that are missing; changes nothing else.
# usage: deploy/setup.sh SECTION[/PACKAGE]...     for example: deploy/setup.sh build
# exit: 0 all there, 1 it cannot or must not install, 75 apt failed three times
set -euo pipefail

readonly list="${BASH_SOURCE[0]%/*}/packages.txt"
readonly policy=/usr/sbin/policy-rc.d
readonly tries=3
# Another apt may be at work on this machine: wait for it. Never remove: libboost1.81-dev conflicts
# with the development packages of Boost 1.74, and apt would take those away without a word.
readonly apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
readonly install=("${apt[@]}" install -y --no-remove --no-install-recommends)

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

# The packages of SECTION, or only PACKAGE of it.
packages_of() {
  local section=${1%%/*} package=""
  [[ $1 != */* ]] || package=${1#*/}
  awk -v section="[$section]" -v package="$package" '
    /^\[/ { inside = ($0 == section) }
    inside && /^[a-z0-9]/ && (package == "" || $1 == package) { print $1; found = 1 }
    END { exit !found }' "$list" || die "$list lists no '$1'"
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Sets `root` to the words that run a command as root: none, or sudo.
find_root() {
  root=()
  if ((EUID != 0)); then
    root=(sudo)
    { command -v sudo && sudo true; } >/dev/null ||
      die "this needs root: run '${apt[*]} update && ${install[*]} $*' as root, then this again"
  fi
}

# A simulated run tells what apt would remove; a package it cannot resolve is the real run's error.
refuse_removals() {
  local removed
  removed=$(apt-get install -s --no-install-recommends "$@" 2>/dev/null |
    awk '/^Remv/ { print $2 }') || true
  [[ -z $removed ]] ||
    die "to install $* apt would remove ${removed//$'\n'/ }: stopped, nothing is changed"
}

# Packages that bring a service must not start it: this machine is not ours.
forbid_services() {
  [[ ! -e $policy ]] || return 0
  trap '"${root[@]}" rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
  "${root[@]}" chmod 755 "$policy"
}

install_packages() {
  local try
  for ((try = 1; try <= tries; ++try)); do
    "${root[@]}" "${apt[@]}" update >/dev/null ||
      say "apt-get update failed; trying with the lists that are here"
    refuse_removals "$@"
    if "${root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" "$@" >/dev/null; then
      return 0
    fi
    say "apt-get failed (try $try of $tries)"
    ((try == tries)) || sleep $((5 * try))
  done
  exit 75
}

main() {
  (($# > 0)) || die "usage: deploy/setup.sh SECTION[/PACKAGE]..., sections in $list"
  local wanted missing=() package
  wanted=$(for section in "$@"; do packages_of "$section"; done | sort -u)
  { command -v apt-get && command -v dpkg-query; } >/dev/null ||
    die "no apt here; install what these Debian packages hold by this system's own means," \
      "then set RANKRUN_SKIP_SETUP=1: ${wanted//$'\n'/ }"
  for package in $wanted; do
    is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    say "nothing to install for: $*"
    return
  fi
  find_root "${missing[@]}"
  say "installing ${missing[*]} and their dependencies (a minute or two)"
  forbid_services
  install_packages "${missing[@]}"
  say "installed"
}

if [[ -n ${RANKRUN_SKIP_SETUP:-} ]]; then
  say "RANKRUN_SKIP_SETUP is set: nothing is checked or installed"
else
  main "$@"
fi
