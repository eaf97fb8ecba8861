"""Reads the log of `ptxas -v`: check_log.py <log> <most registers of the attention>.

Fails on spilled registers, on a stack, on warnings, and on the remarks C75xx, with
which ptxas says that it serialises or ignores what the code asks for and exits 0.
"""

import re
import sys

text = open(sys.argv[1]).read()
limit = int(sys.argv[2])
kernels = re.findall(
    r"entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    text,
    re.S,
)
faults = [line for line in text.splitlines() if re.search(r"C75\d\d|warning|error", line)]
for name, *counts, registers in kernels:
    print(f"{name}: {registers} registers, {'/'.join(counts)} bytes of stack and spills")
    if any(int(count) for count in counts):
        faults.append(f"{name} spills")
    if name.endswith("_attention") and int(registers) > limit:
        faults.append(f"{name} takes more than {limit} registers")
if not any(name.endswith("_attention") for name, *_ in kernels):
    faults.append("no attention kernel in the log")
print(*faults, sep="\n")
sys.exit(1 if faults else 0)
