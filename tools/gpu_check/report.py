"""Progress lines and tables."""

import sys
import time


class Progress:
    """Prints lines with the seconds since the start."""

    def __init__(self, start=None):
        self.start = time.monotonic() if start is None else start

    @property
    def seconds(self):
        return time.monotonic() - self.start

    def say(self, text):
        print(f"[{self.seconds:6.1f} s] {text}")
        sys.stdout.flush()


def table(header, rows):
    """Returns lines of a table; columns of numbers are aligned to the right."""
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    right = [
        all(_is_number(row[i]) for row in cells[1:]) and len(cells) > 1 for i in range(len(header))
    ]
    lines = []
    for row in cells:
        texts = [
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right)
        ]
        lines.append("  ".join(texts).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _is_number(text):
    text = text.strip().rstrip("%")
    if not text or text == "-":
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
