#!/usr/bin/env bash
# Proves that kvc sets itself up on a bare Debian 12; see usage below.
set -euo pipefail

readonly MIRROR=http://deb.debian.org/debian
readonly SECURITY_MIRROR=http://deb.debian.org/debian-security
readonly SUITE=bookworm

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
readonly root

usage() {
  cat <<'END'
usage: tools/bare-check.sh [-h] [--dir DIR] [--copy FILE]... [COMMAND...]

Makes a Debian 12 with the least packages that Debian can have (debootstrap's
minbase), puts a clone of HEAD into it as /root/kvc, and runs COMMAND there, by
default 'bash tools/test.sh'. Ends with its status. Needs root and debootstrap.

  --dir DIR      keep that Debian in DIR. One that is there already is used
                 again, with the packages it has got meanwhile; the clone is
                 always made anew
  --copy FILE    copy a file of this machine to the same place in there, such
                 as the certificates of a proxy; may be repeated
  -h, --help     print this and stop

environment: PIP_*, http_proxy, https_proxy, no_proxy, KVC_REQUIRE and
KVC_TEST_FULL are handed on to COMMAND, and nothing else.
END
}

say() { printf 'bare-check: %s\n' "$*"; }

die() {
  printf 'bare-check: error: %s\n' "$*" >&2
  exit 1
}

parse_arguments() {
  directory='' copies=() command=(bash tools/test.sh)
  while (($# > 0)); do
    case "$1" in
      --dir | --copy)
        (($# > 1)) || die "expected a path after $1"
        if [[ "$1" == --dir ]]; then directory="$2"; else copies+=("$2"); fi
        shift
        ;;
      -h | --help)
        usage
        exit 0
        ;;
      -*) die "unknown option '$1'; --help lists what there is" ;;
      *)
        command=("$@")
        break
        ;;
    esac
    shift
  done
}

# Sets `directory`; without --dir a temporary one that goes when this ends.
choose_directory() {
  if [[ -z "$directory" ]]; then
    directory="$(mktemp -d)"
    trap 'rm -rf --one-file-system -- "$directory"' EXIT
  else
    mkdir -p -- "$directory"
  fi
  directory="$(realpath -- "$directory")"
}

make_debian() {
  if [[ -e "$directory/etc/debian_version" ]]; then
    say "using the Debian in $directory again"
  else
    say "making a bare Debian in $directory"
    debootstrap --variant=minbase "$SUITE" "$directory" "$MIRROR" >/dev/null
  fi
  printf 'deb %s main\n' "$MIRROR $SUITE" "$SECURITY_MIRROR $SUITE-security" \
    >"$directory/etc/apt/sources.list"
}

copy_files() {
  local file
  for file in /etc/resolv.conf /etc/hosts "${copies[@]}"; do
    [[ -e "$file" ]] || die "no file '$file' to copy"
    mkdir -p -- "$directory$(dirname "$file")"
    cp -L --remove-destination -- "$file" "$directory$file"
  done
  rm -rf -- "$directory/root/kvc"
  git clone --quiet --no-hardlinks -- "$root" "$directory/root/kvc"
}

# Prints, ended by zero bytes, the variables that COMMAND gets.
environment() {
  printf '%s\0' HOME=/root TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  env -0 | grep -zE '^(PIP_[A-Z_]+|https?_proxy|no_proxy|KVC_REQUIRE|KVC_TEST_FULL)=' || true
}

# Runs COMMAND with /proc and /dev mounted until it ends; the
# rest of the machine never sees the mounts.
run_inside() {
  local variables=()
  mapfile -d '' -t variables < <(environment)
  # shellcheck disable=SC2016 # expanded by the inner shells
  env -i "${variables[@]}" unshare --mount bash -euc '
    directory="$1"
    shift
    mount -t proc proc "$directory/proc"
    mount --rbind /dev "$directory/dev"
    exec chroot "$directory" bash -c "cd /root/kvc && exec \"\$@\"" bash "$@"
  ' bash "$directory" "${command[@]}"
}

main() {
  parse_arguments "$@"
  ((EUID == 0)) || die "only root can make a Debian and change into it"
  command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
  choose_directory
  make_debian
  copy_files
  say "running ${command[*]}"
  run_inside
}

main "$@"
