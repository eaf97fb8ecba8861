#!/usr/bin/env bash
# Packs what tools/gpu-check.py needs on a machine with a GPU; see usage below.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
readonly root
build="$(realpath -m -- "${KVC_BUILD_DIR:-$root/build}")"
readonly build

usage() {
  cat <<'END'
usage: tools/gpu-check.sh pack [--small] FOLDER

Gathers in FOLDER, which must be empty or absent, all that checking and timing kvc
on a GPU needs: compiled programs with their PTX, the runtime, the emulator, their
sources, and the scripts. Copy FOLDER to the machine with the GPU, and there

  python3 FOLDER/gpu-check.py --device=cuda

docs/GPU.md tells more. kvc must be built here.

  --small        a program or two of each kind, for a test of the scripts
  -h, --help     print this and stop

environment:
  KVC_BUILD_DIR  folder that kvc is built in, instead of build/
  CC, CXX        compilers that link, instead of gcc and g++
END
}

die() {
  printf 'gpu-check: error: %s\n' "$*" >&2
  exit 1
}

main() {
  case "${1:-}" in
    -h | --help)
      usage
      return 0
      ;;
    pack) shift ;;
    *)
      usage >&2
      return 2
      ;;
  esac
  [[ -x "$build/bin/kvc-translate" ]] ||
    die "$build has no bin/kvc-translate; run tools/setup.sh, or set KVC_BUILD_DIR"
  PYTHONPATH="$root/tools" PYTHONDONTWRITEBYTECODE=1 \
    "$build/venv/bin/python" -m gpu_check.pack --build "$build" "$@"
}

main "$@"
