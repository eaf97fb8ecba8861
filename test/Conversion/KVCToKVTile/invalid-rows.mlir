// What has no kernel over rows is refused, with what there is.

// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file -verify-diagnostics

!rows = tensor<?x1x8xf16>
!lse = tensor<?x1xf32>

// One part more than the parameters of a kernel have room for.
func.func @parts(%o: !rows, %l: !lse) -> (!rows, !lse) {
  // expected-error@below {{has no GPU kernel for 682 parts; supported: 1 to 681}}
  %r, %s = kvc.merge outputs(
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
      %o, %o, %o, %o, %o, %o, %o, %o, %o, %o
      :
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows,
      !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows, !rows
      ) lses(
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
      %l, %l, %l, %l, %l, %l, %l, %l, %l, %l
      :
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
      !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse
      ) : !rows, !lse
  return %r, %s : !rows, !lse
}

// -----

!rows = tensor<?x1x8xf16>

// The frequency of pair 3 of 4 is 10^9: no angle is left of the product.
func.func @frequencies(%x: !rows, %batch: !kvc.batch) -> !rows {
  // expected-error@below {{has no GPU kernel for frequencies above 524288, got 1.000000e+09}}
  %y = kvc.rope %x at %batch {theta = 1.0e-12 : f64, rotary_width = 8 : i64} : !rows
  return %y : !rows
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16 layout<packed_key>, v: 8x128xbf16>

func.func @layout(%cache: !cache, %batch: !kvc.batch, %k: tensor<?x8x128xbf16>) {
  // expected-error@below {{has no GPU kernel for component 'k' of layout packed_key; supported: row_major}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}
