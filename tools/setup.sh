#!/usr/bin/env bash
# Brings a Debian 12 machine to a built kvc; see usage below.
set -euo pipefail

readonly LLVM_VERSION=22
readonly LLVM_PREFIX="/usr/lib/llvm-$LLVM_VERSION"

# Debian packages: the build's programs, the compiler's libraries, the tests. The
# libraries that LLVM's own CMake files look for besides are not needed, as all
# programs link LLVM's shared library.
readonly PACKAGES=(
  ca-certificates ccache cmake g++ git ninja-build
  python3 python3-dev python3-venv
  "libmlir-$LLVM_VERSION-dev" "llvm-$LLVM_VERSION-dev" "mlir-$LLVM_VERSION-tools"
  "llvm-$LLVM_VERSION-tools" libgmock-dev libgtest-dev
)

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
readonly root
build="$(realpath -m -- "${KVC_BUILD_DIR:-$root/build}")"
readonly build
readonly python="$build/venv/bin/python"

usage() {
  cat <<END
usage: tools/setup.sh [-h] [CMAKE-ARGUMENT...]

Installs what building and testing kvc needs, then configures and builds it.
What is done already is skipped, so that a second run takes a second.

  1. Debian packages, by apt-get, if one is missing (as root or by sudo)
  2. Python packages, from tools/requirements.txt into build/venv; those of
     tools/requirements-triton.txt, half a gigabyte, only on request
  3. CMake, into build/; arguments such as -DKVC_BUILD_COMPILER=OFF are handed
     on, and hold in build/ until others are given
  4. ninja

  -h, --help     print this and stop

environment:
  KVC_BUILD_DIR  folder to build in, instead of build/
  KVC_REQUIRE    what the tests must find, separated by commas; if it names
                 triton, Triton's compiler is installed
  CC, CXX        compilers, instead of gcc and g++

By hand, 'ninja -C build' builds, and 'ninja -C build check-kvc' builds and
runs the tests.
END
}

say() { printf 'setup: %s\n' "$*"; }

die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

# Runs the command after the name of a step, and says how long it took.
step() {
  local name="$1" start="$EPOCHREALTIME"
  shift
  "$@"
  say "$name: done in $(elapsed "$start") s"
}

# Prints the seconds since a value of EPOCHREALTIME, with one decimal.
elapsed() {
  local now="$EPOCHREALTIME"
  local tenths=$(((${now/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# --- Debian packages ---------------------------------------------------------

# Prints those of PACKAGES that are not installed.
missing_packages() {
  local installed package
  # dpkg-query fails if it does not know one of the names; its output counts.
  installed="$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" \
    2>/dev/null || true)"
  for package in "${PACKAGES[@]}"; do
    grep -qxF "$package installed" <<<"$installed" || printf '%s\n' "$package"
  done
}

# Runs a command as root.
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"
}

# Stops if apt's sources do not have the given packages.
check_available() {
  local package unknown=()
  for package in "$@"; do
    if [[ -z "$(apt-cache madison "$package" 2>/dev/null)" ]]; then
      unknown+=("$package")
    fi
  done
  case " ${unknown[*]} " in
    *" libmlir-$LLVM_VERSION-dev "*)
      die "apt knows no package libmlir-$LLVM_VERSION-dev. Debian 12 has it in its security
suite, which this machine's sources lack. Add it (as root) and try again:
  echo 'deb http://deb.debian.org/debian-security bookworm-security main' \\
    >/etc/apt/sources.list.d/bookworm-security.list"
      ;;
    "  ") ;;
    *) die "apt knows no package ${unknown[*]}; Debian 12 (bookworm) has it in 'main'" ;;
  esac
}

install_packages() {
  local missing=()
  command -v dpkg-query >/dev/null ||
    die "this is not Debian; install what tools/setup.sh lists by hand and run cmake"
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} > 0)) || return 0
  say "packages: installing ${missing[*]}"
  if ((EUID != 0)) && ! { command -v sudo >/dev/null && sudo -v; }; then
    die "these Debian packages are missing, and only root can install them; as root:
  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  fi
  apt_get update || say "packages: some package lists are old; trying with those"
  check_available "${missing[@]}"
  apt_get install -y --no-install-recommends "${missing[@]}"
}

# --- Python packages ---------------------------------------------------------

# Makes build/venv anew if the requirements or its place have changed. Always
# Debian's Python, whatever else is on PATH.
make_venv() {
  local requirements="$root/tools/requirements.txt" venv="$build/venv" stamp
  stamp="$(sha256sum <"$requirements") $(/usr/bin/python3 --version) $venv"
  if [[ "$(cat "$venv/kvc-stamp" 2>/dev/null)" == "$stamp" ]]; then
    return 0
  fi
  say "python: installing tools/requirements.txt into $venv"
  rm -rf -- "$venv"
  /usr/bin/python3 -m venv "$venv"
  pip_install "$requirements"
  printf '%s\n' "$stamp" >"$venv/kvc-stamp"
}

# Installs the packages that a file lists.
pip_install() {
  "$python" -m pip install --quiet --no-input --disable-pip-version-check \
    --only-binary :all: --requirement "$1"
}

# Adds Triton's compiler if KVC_REQUIRE names it. It stays until the venv is made
# anew.
install_triton() {
  local requirements="$root/tools/requirements-triton.txt" names="${KVC_REQUIRE:-}"
  local stamp="$build/venv/kvc-triton-stamp"
  [[ ",${names// /}," == *,triton,* ]] || return 0
  if cmp -s "$requirements" "$stamp"; then
    return 0
  fi
  say "python: installing tools/requirements-triton.txt"
  pip_install "$requirements"
  cp -- "$requirements" "$stamp"
}

install_python_packages() {
  make_venv
  install_triton
}

# --- CMake and ninja ---------------------------------------------------------

# Configures if the command line or the build's place changed; when a
# CMakeLists.txt changed, ninja does it. Without arguments, those of the last
# time hold.
configure() {
  local cc="${CC:-gcc}" cxx="${CXX:-g++}" cxx_flags="${CXXFLAGS:-}" launcher
  local stamp="$build/kvc-configure-stamp" arguments=("$@") line
  # ccache finds what another checkout has built: paths below the source are
  # made relative, precompiled headers are trusted by their text, and the
  # language of messages does not matter.
  launcher="env;CCACHE_BASEDIR=$root;CCACHE_NOHASHDIR=1"
  launcher+=";CCACHE_SLOPPINESS=pch_defines,time_macros,locale"
  launcher+=",include_file_mtime,include_file_ctime"
  launcher+=";ccache"
  # ccache needs this flag of g++ to keep precompiled headers.
  [[ "$cxx" == *clang* ]] || cxx_flags="-fpch-preprocess${cxx_flags:+ $cxx_flags}"
  local command=(
    cmake -G Ninja -S "$root" -B "$build"
    -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx"
    "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher"
    "-DCMAKE_CXX_FLAGS=$cxx_flags"
    "-DMLIR_DIR=$LLVM_PREFIX/lib/cmake/mlir"
    "-DPython_EXECUTABLE=$python" "-DPython3_EXECUTABLE=$python"
  )
  if (($# == 0)) && [[ -e "$build/kvc-configure-arguments" ]]; then
    mapfile -t arguments <"$build/kvc-configure-arguments"
  fi
  line="$(printf '%q ' "${command[@]}" "${arguments[@]}")"
  if [[ -e "$build/build.ninja" && "$(cat "$stamp" 2>/dev/null)" == "$line" ]]; then
    return 0
  fi
  forget_moved_build
  rm -f -- "$stamp"
  "${command[@]}" "${arguments[@]}"
  printf '%s\n' "$line" >"$stamp"
  if ((${#arguments[@]} > 0)); then
    printf '%s\n' "${arguments[@]}" >"$build/kvc-configure-arguments"
  fi
}

# CMake refuses a cache that was written for another source or build folder.
forget_moved_build() {
  local cache="$build/CMakeCache.txt"
  [[ -e "$cache" ]] || return 0
  if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" ||
    ! grep -qxF "CMAKE_CACHEFILE_DIR:INTERNAL=$build" "$cache"; then
    say "configure: $build was made for another folder; starting afresh"
    rm -rf -- "$cache" "$build/CMakeFiles"
  fi
}

# Prints how many compilers may run at once: one per core, and 3 GB for each.
job_count() {
  local memory_kb jobs
  memory_kb="$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)"
  jobs=$((memory_kb / 3000000))
  local cores
  cores="$(nproc)"
  ((jobs <= cores)) || jobs=$cores
  printf '%d' $((jobs > 0 ? jobs : 1))
}

compile() {
  NINJA_STATUS='[%f/%t, %es] ' ninja -C "$build" "-j$(job_count)"
}

main() {
  case "${1:-}" in
    -h | --help)
      usage
      return 0
      ;;
  esac
  local start="$EPOCHREALTIME"
  step packages install_packages
  mkdir -p -- "$build"
  # Two set-ups in one folder take turns.
  exec 9>"$build/.setup-lock"
  flock --nonblock 9 || {
    say "waiting for another set-up in $build"
    flock 9
  }
  step python install_python_packages
  step configure configure "$@"
  step build compile
  say "all done in $(elapsed "$start") s"
}

main "$@"
