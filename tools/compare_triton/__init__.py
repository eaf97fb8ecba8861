"""What tools/compare-triton.py consists of."""
