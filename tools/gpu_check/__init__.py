"""What tools/gpu-check.py consists of; runs without anything of LLVM."""
