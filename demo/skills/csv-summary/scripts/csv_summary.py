"""Summarise a CSV table on standard input, one line for each column."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Column:
    """What has been seen of one column so far."""

    name: str
    missing: int = 0
    numbers: list[float] = field(default_factory=list)
    values: Counter[str] = field(default_factory=Counter)

    def add(self, cell: str) -> None:
        """Take one cell in."""
        cell = cell.strip()
        if not cell:
            self.missing += 1
            return
        self.values[cell] += 1
        try:
            self.numbers.append(float(cell))
        except ValueError:
            return

    def describe(self) -> str:
        """Say type, missing cells and either the range or the most common values."""
        filled = sum(self.values.values())
        if filled and len(self.numbers) == filled:
            mean = sum(self.numbers) / filled
            facts = f"number   min {min(self.numbers):g}  max {max(self.numbers):g}  mean {mean:.4g}"
        else:
            common = ", ".join(f"{value} ({count})" for value, count in self.values.most_common(3))
            facts = f"text     {len(self.values)} distinct: {common}"
        return f"{self.name:<14} {facts}" + (f"  missing {self.missing}" if self.missing else "")


def summarise(text: str, delimiter: str) -> str:
    """Return the summary of one table."""
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    columns = [Column(name.strip() or f"column {place}") for place, name in enumerate(next(rows, []), 1)]
    if not columns:
        return "no columns"
    count = ragged = 0
    for row in rows:
        if not row:
            continue
        count += 1
        ragged += len(row) != len(columns)
        for place, column in enumerate(columns):
            column.add(row[place] if place < len(row) else "")
    head = f"{count} rows, {len(columns)} columns" + (f", {ragged} ragged rows" if ragged else "")
    return "\n".join([head, *(column.describe() for column in columns)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delimiter", default=",", help="the character between cells")
    options = parser.parse_args()
    text = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")
    print(summarise(text, options.delimiter))


if __name__ == "__main__":
    main()
