// An attention without a schedule is not given one behind the back of its author.

// RUN: kvc-opt %s --convert-kvc-to-kvtile --verify-diagnostics

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @unplanned(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{expected a #kvc.gpu_schedule; run kvc-plan before, which says in a remark if none fits}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
