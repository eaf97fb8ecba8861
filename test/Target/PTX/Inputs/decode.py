"""Prints a decode function: decode.py element width kv_heads group page [features].

Features, comma-separated: append, softcap, window, sinks, lse.
"""

import sys

element, width, heads, group, page = sys.argv[1], *map(int, sys.argv[2:6])
features = sys.argv[6].split(",") if len(sys.argv) > 6 else []
row = f"{width}x{element}"
cache = f"!kvc.cache<page = {page}, k: {heads}x{row}, v: {heads}x{row}>"
query = f"tensor<?x{heads * group}x{row}>"
new = f"tensor<?x{heads}x{row}>"
lse = f"tensor<?x{heads * group}xf32>"
sinks = f"tensor<{heads * group}xf32>"

score = ["#kvc.softcap<50.0>"] if "softcap" in features else []
score += ["#kvc.causal"]
score += ["#kvc.window<1000>"] if "window" in features else []
arguments = [f"%q: {query}"]
arguments += [f"%k: {new}", f"%v: {new}"] if "append" in features else []
arguments += [f"%cache: {cache}", "%batch: !kvc.batch"]
arguments += [f"%sinks: {sinks}"] if "sinks" in features else []
types = [query] + ([lse] if "lse" in features else [])
results = ["%o"] + (["%lse"] if "lse" in features else [])

print(f"func.func @decode({', '.join(arguments)}) -> ({', '.join(types)}) {{")
if "append" in features:
    print(f"  kvc.append %cache[k: %k, v: %v] at %batch : {cache}, {new}, {new}")
print(
    f"  {', '.join(results)} = kvc.attention %cache at %batch terms(%q * k) value(v)",
    f"sinks(%sinks : {sinks})" if "sinks" in features else "",
    f"score [{', '.join(score)}] {{scale = {width ** -0.5} : f32}}",
    f": {cache}, {query} -> {', '.join(types)}",
)
print(f"  return {', '.join(results)} : {', '.join(types)}")
print("}")
