"""What tools/coverage-table.py consists of."""
