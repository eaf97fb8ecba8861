#!/usr/bin/env bash
# Sets kvc up and shows what it does; see usage below.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
readonly root
build="$(realpath -m -- "${KVC_BUILD_DIR:-$root/build}")"
readonly build

usage() {
  cat <<'END'
usage: tools/demo.sh [--no-setup] [-h]

Sets kvc up (tools/setup.sh) and runs the attention of five models of
test/Examples on this machine's CPU, for decode (8 sequences with one new token
each) and for prefill (4 sequences with up to 2,048 new tokens). Prints a table:

  compile      from .mlir text to machine code in memory
  error        largest error of an output row against NumPy in float64, and
               against the definition compiled in f64; sampled query tokens
  speed        new tokens a second, one layer
  KV read      bytes of all keys and values that a query sees, once, by the time
  linear read  GB/s at which the same threads read as many bytes in a row
  share        of that, in KV read
  products     operations of q * k and p * v by the time
  result       PASS if every row is within tolerance (docs/Testing.md)

Then writes the models' GPU kernels to build/ptx/ and, if CUDA's ptxas is
installed, prints the registers of each. No GPU is needed.

Ends with status 0 only if every row is within tolerance. Takes less than a
minute, set-up aside.

  --no-setup     use what is built already
  -h, --help     print this and stop

environment:
  KVC_BUILD_DIR  folder of the build, instead of build/
END
}

setup=true
while (($# > 0)); do
  case "$1" in
    --no-setup) setup=false ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf "demo: error: unknown argument '%s'; --help lists what there is\n" "$1" >&2
      exit 2
      ;;
  esac
  shift
done

if $setup; then
  bash "$root/tools/setup.sh"
  printf '\n'
fi
if [[ ! -x "$build/bin/kvc-read-rate" || ! -d "$build/python/kvc" ]]; then
  printf 'demo: error: the compiler and its Python module are not built in %s\n' "$build" >&2
  exit 1
fi
# NumPy computes what is right while kvc's threads run; its own would only wait.
OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$build/python" \
  exec "$build/venv/bin/python" "$root/tools/demo.py" --build "$build"
