#!/usr/bin/env bash
# Builds the runtime and the emulator from a pack's sources, for a machine on which
# the packed libraries do not load:
#   build-libraries.sh SOURCE-FOLDER OUTPUT-FOLDER
# Needs g++ (or what CXX names) with C++17, and nothing else.
set -euo pipefail

source="$(realpath -- "$1")"
readonly source
mkdir -p -- "$2"
output="$(realpath -- "$2")"
readonly output
export CXX="${CXX:-g++}"

# Compiles the C++ files on standard input to objects in $1, with the flags that follow.
compile() {
  local objects="$1"
  shift
  mkdir -p -- "$objects"
  # shellcheck disable=SC2016
  xargs -P "$(nproc)" -I FILE bash -c '
    objects="$1" file="$2" source="$3"; shift 3
    name="${file#"$source"/}"
    "$CXX" -std=c++17 -O2 -fPIC -DNDEBUG "$@" -c "$file" -o "$objects/${name//\//_}.o"' \
    _ "$objects" FILE "$source" "$@"
}

# Links the objects in $1 to the library $2.
link() {
  "$CXX" -shared -pthread -Wl,-Bsymbolic "$1"/*.o -o "$output/$2" "${@:3}" -ldl
}

objects="$(mktemp -d)"
trap 'rm -rf -- "$objects"' EXIT

find "$source/lib/Runtime" -name '*.cpp' |
  compile "$objects/runtime" -fvisibility=hidden -fvisibility-inlines-hidden \
    "-I$source/include" "-I$source/lib/Runtime" '-DKVC_RT_VERSION="0.0.0"'
link "$objects/runtime" libkvc_rt.so

emulator=(-O3 -fno-math-errno -ffp-contract=off -march=x86-64-v3
  "-I$source/include" "-I$source/lib/Emulator")
find "$source/lib/Emulator" -name '*.cpp' ! -name FloatRounding.cpp |
  compile "$objects/emulator" "${emulator[@]}"
find "$source/lib/Emulator" -name FloatRounding.cpp |
  compile "$objects/emulator" "${emulator[@]}" -frounding-math
link "$objects/emulator" libkvc_emulator_cuda.so \
  "-Wl,--version-script=$source/lib/Emulator/Driver/exports.map"
