// RUN: kvc-opt %s -kvc-build-program="program-name=a-b" -verify-diagnostics

// The name becomes part of a symbol that C programs declare.
// expected-error@below {{expected program-name to be a C identifier, got 'a-b'}}
module {}
