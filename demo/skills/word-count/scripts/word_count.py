"""Count lines, words and characters of standard input, and name the most frequent words."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
WORDS_A_MINUTE = 230


def measure(text: str, top: int) -> dict[str, object]:
    """Return the counts of one text; `frequent` is a list of [word, count], most frequent first."""
    words = Counter(match.group().lower() for match in WORD.finditer(text))
    total = sum(words.values())
    frequent = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:top]
    return {
        "lines": len(text.splitlines()),
        "words": total,
        "distinct_words": len(words),
        "characters": len(text),
        "reading_minutes": round(total / WORDS_A_MINUTE, 1),
        "frequent": [list(pair) for pair in frequent],
    }


def show(counts: dict[str, object]) -> str:
    """Lay the counts out as a small table."""
    lines = [f"{name.replace('_', ' '):<16} {value}" for name, value in counts.items() if name != "frequent"]
    lines += [f"  {count:>5}  {word}" for word, count in counts["frequent"]]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=10, help="how many frequent words to name")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    counts = measure(text, max(0, options.top))
    print(json.dumps(counts, ensure_ascii=False) if options.json else show(counts))


if __name__ == "__main__":
    main()
