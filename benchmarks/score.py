"""Detection quality on labelled samples: what is blocked, what is missed, what is blocked wrongly, how fast.

`make score` stages what the snapshots folder holds below a temporary folder, audits it without any network, and
prints a table. FAIL counts as blocked. Nothing of the samples is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from score.measure import Measured, measure
from score.mutate import MUTATIONS, mutated_samples
from score.samples import Sample, collection_samples, read_manifest, stage, staged_samples
from score.table import as_json, lists, table

from skillkeep.auditor.rulebook import default_rulebook

COLLECTIONS = (
    "anthropics/skills", "openai/skills", "obra/superpowers", "wshobson/agents",
    "K-Dense-AI/claude-scientific-skills", "modelcontextprotocol/servers",
)  # fmt: skip


def main() -> int:
    """Measure and print. Without snapshots there is nothing to measure, which is said and is no failure."""
    wanted = _arguments()
    with ExitStack() as stack:
        root = wanted.staged or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skillkeep-score-")))
        samples = _samples(wanted, root)
        if not samples:
            print("nothing to score: fetch snapshots and pass --snapshots and --manifest", file=sys.stderr)
            return 0
        if wanted.mutate:
            return _mutations(samples, root, stack)
        measured = measure(samples, root, programs=wanted.programs)
    _show(measured, as_data=wanted.json)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snapshots", type=Path, default=Path("/work/.mirror"), help="folder of owner+name/ snapshots")
    parser.add_argument("--manifest", type=Path, default=Path("/work/shared/eval/dev.jsonl"), help="the labelled list")
    parser.add_argument("--staged", type=Path, help="a folder that is staged already, or where to stage and keep")
    parser.add_argument("--slice", action="append", default=[], help="only slices that start so; may be repeated")
    parser.add_argument("--collections", action="store_true", help="every skill of whole public collections instead")
    parser.add_argument("--programs", action="store_true", help="with semgrep and bandit, one process a sample")
    parser.add_argument("--mutate", action="store_true", help="mutations of the malicious samples instead")
    parser.add_argument("--json", action="store_true", help="print data")
    return parser.parse_args()


def _samples(wanted: argparse.Namespace, root: Path) -> list[Sample]:
    if wanted.collections:
        samples = collection_samples(wanted.snapshots, COLLECTIONS)
    else:
        samples = read_manifest(wanted.manifest) if wanted.manifest.is_file() else []
    samples = [each for each in samples if not wanted.slice or each.slice.startswith(tuple(wanted.slice))]
    there = staged_samples(samples, root)
    return there or stage(samples, wanted.snapshots, root)


def _show(measured: list[Measured], *, as_data: bool) -> None:
    ruleset = default_rulebook().digest
    if as_data:
        print(json.dumps(as_json(measured, ruleset)))
    else:
        print(f"ruleset {ruleset}\n\n{table(measured)}\n{lists(measured)}")


def _mutations(samples: list[Sample], root: Path, stack: ExitStack) -> int:
    """Only what is FAIL as it is can be shown to stay FAIL."""
    malicious = [each for each in samples if each.label == "malicious"]
    blocked = [each.sample for each in measure(malicious, root) if each.verdict == "FAIL"]
    changed = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skillkeep-mutants-")))
    measured = measure(mutated_samples(blocked, root, changed), changed)
    print(f"{len(blocked)} blocked samples, {len(MUTATIONS)} mutations\n\n{table(measured)}")
    for item in measured:
        if item.verdict != "FAIL":
            print(f"  {item.sample.id} {item.verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
