#!/usr/bin/env bash
# Sets kvc up and runs every test; see usage below.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
readonly root
build="$(realpath -m -- "${KVC_BUILD_DIR:-$root/build}")"
readonly build
readonly results="$build/test-results"
readonly python="$build/venv/bin/python"

usage() {
  cat <<'END'
usage: tools/test.sh [--full] [--no-setup] [-h]

Sets kvc up (tools/setup.sh) and runs every test with its three runners: lit
(test/), GoogleTest (test/Unit/) and pytest (test/python/,
test/Emulator/witness/ and test/Emulator/golden/). Prints the tests that were
skipped and why, those that failed, a line per suite and, last,

  N passed, N failed, N skipped

Ends with status 0 only if no test failed and at least one passed. A test that
times out, passes though it should not, or takes its runner down has failed.

  --full         run every case, not the sample that is the default
  --no-setup     test what is built already
  -h, --help     print this and stop

environment:
  KVC_BUILD_DIR  folder to build in, instead of build/
  KVC_REQUIRE    what must be found here, separated by commas, so that its tests
                 are not skipped: ptxas, nvcc, triton, cuda, avx2, avx512,
                 avx512_bf16, amx
  KVC_TEST_FULL  1 means --full

One test: 'build/bin/kvc-lit -v test/Dialect/KVC/ops.mlir', 'build/bin/
kvc-runtime-tests --gtest_filter=Pool*', 'PYTHONPATH=build/python build/venv/
bin/python -m pytest test/python/FILE'. docs/Testing.md tells more.
END
}

# What is handed to summarize_tests.py: five words per suite that ran.
suites=()
# Seconds after which a GoogleTest program or pytest hangs; lit has its own.
runner_timeout=1800

parse_arguments() {
  setup=true
  [[ "${KVC_TEST_FULL:-0}" != 0 ]] || unset KVC_TEST_FULL
  while (($# > 0)); do
    case "$1" in
      --full) export KVC_TEST_FULL=1 ;;
      --no-setup) setup=false ;;
      -h | --help)
        usage
        exit 0
        ;;
      *)
        printf "test: error: unknown argument '%s'; --help lists what there is\n" "$1" >&2
        exit 2
        ;;
    esac
    shift
  done
  if [[ -n "${KVC_TEST_FULL:-}" ]]; then
    runner_timeout=14400
  fi
}

# Prints the seconds since a value of EPOCHREALTIME, with one decimal.
elapsed() {
  local now="$EPOCHREALTIME"
  local tenths=$(((${now/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# Runs a runner: its name, its format, its result file, then its command.
run_suite() {
  local name="$1" format="$2" file="$3" start="$EPOCHREALTIME" status=0
  shift 3
  printf '\n== %s\n' "$name"
  "$@" || status=$?
  suites+=(--suite "$name" "$format" "$file" "$status" "$(elapsed "$start")")
}

# Runs a command that is stopped when it takes too long.
limited() {
  timeout --foreground --kill-after=10 "$runner_timeout" "$@"
}

# True if the build was configured with the given option on.
configured() {
  grep -qE "^$1:BOOL=(ON|1|TRUE|YES|Y)\$" "$build/CMakeCache.txt"
}

run_lit() {
  local progress=()
  [[ -t 1 ]] || progress=(--no-progress-bar)
  run_suite lit lit "$results/lit.json" \
    "$python" "$build/bin/kvc-lit" -sv "${progress[@]}" \
    --output "$results/lit.json" "$root/test"
}

run_unit_tests() {
  local program name
  for program in "$build"/bin/kvc-*-tests; do
    [[ -x "$program" ]] || continue
    name="$(basename "$program")"
    run_suite "$name" junit "$results/$name.xml" \
      run_unit_program "$program" "--gtest_output=xml:$results/$name.xml"
  done
}

# Runs a GoogleTest program and prints what it does, less the tests that pass:
# of one that crashes, the last line names the test.
run_unit_program() {
  limited "$@" 2>&1 | awk '
    /^\[ RUN / { held = $0; next }
    /^\[       OK \]|^\[-----|^$/ { held = ""; next }
    held { print held; held = "" }
    { print }
    END { if (held) print held }'
}

run_python_tests() {
  if ! configured KVC_BUILD_COMPILER || ! configured KVC_BUILD_PYTHON; then
    printf '\n== pytest: left out, the Python module is not built\n'
    return 0
  fi
  [[ -d "$root/test/python" ]] || return 0
  PYTHONPATH="$build/python" run_pytest pytest "$root/test/python"
}

# Runs the kernels of other compilers on the emulator, and compares it with what
# devices gave.
run_emulator_tests() {
  local library="$build/lib/libkvc_emulator_cuda.so" name
  if [[ ! -e "$library" ]]; then
    printf '\n== witness, golden: left out, the emulator is not built\n'
    return 0
  fi
  for name in witness golden; do
    KVC_EMULATOR_LIBRARY="$library" run_pytest "$name" "$root/test/Emulator/$name"
  done
}

# Runs the Python tests of a folder as the suite of the given name.
run_pytest() {
  local name="$1" folder="$2"
  PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$build/hypothesis" \
    run_suite "$name" junit "$results/$name.xml" \
    limited "$python" -m pytest -q -o "cache_dir=$build/$name-cache" \
    -o xfail_strict=true -o junit_family=xunit2 "--rootdir=$folder" \
    "--junitxml=$results/$name.xml" "$folder"
}

main() {
  parse_arguments "$@"
  if [[ "$root$build" == *[[:space:]]* ]]; then
    printf "test: error: lit's tests cannot run in a folder with a space in its name\n" >&2
    exit 1
  fi
  if $setup; then
    bash "$root/tools/setup.sh"
  fi
  rm -rf -- "$results"
  mkdir -p -- "$results"
  run_lit
  run_unit_tests
  run_python_tests
  run_emulator_tests
  printf '\n== summary\n'
  "$python" "$root/tools/summarize_tests.py" "${suites[@]}"
}

main "$@"
