"""Detection quality on labelled samples: what is blocked, what is missed, what is blocked wrongly, how fast.

`make score` stages what the snapshots folder holds below a temporary folder, audits it without any network, and
prints a table. FAIL counts as blocked. Nothing of the samples is kept. `--own` scores the samples of this repository
instead, and so does a run without snapshots.
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
from score.own import own_json, own_lists, own_table, read_own, stage_own
from score.samples import Sample, collection_samples, read_manifest, stage, staged_samples
from score.table import as_json, lists, table

from skillkeep.auditor.rulebook import default_rulebook

COLLECTIONS = (
    "anthropics/skills", "openai/skills", "obra/superpowers", "wshobson/agents",
    "K-Dense-AI/claude-scientific-skills", "modelcontextprotocol/servers",
)  # fmt: skip


def main() -> int:
    """Measure and print. Without snapshots our own samples are measured, which is said."""
    wanted = _arguments()
    with ExitStack() as stack:
        root = wanted.staged or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skillkeep-score-")))
        if wanted.own or wanted.own_ids:
            return _own(wanted, root, stack)
        samples = _samples(wanted, root)
        if not samples:
            print("no snapshots (see --snapshots, --manifest): scoring our own samples", file=sys.stderr)
            return _own(wanted, root, stack)
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
    parser.add_argument("--own", action="store_true", help="the samples of this repository instead")
    parser.add_argument("--own-ids", action="store_true", help="the same, and which of the tune half went wrong")
    parser.add_argument("--programs", action="store_true", help="with semgrep and bandit, one process a sample")
    parser.add_argument("--mutate", action="store_true", help="mutations of the malicious samples instead")
    parser.add_argument("--json", action="store_true", help="print data")
    return parser.parse_args()


def _samples(wanted: argparse.Namespace, root: Path) -> list[Sample]:
    if wanted.collections:
        samples = collection_samples(wanted.snapshots, COLLECTIONS)
    else:
        samples = read_manifest(wanted.manifest) if wanted.manifest.exists() else []
    samples = [each for each in samples if not wanted.slice or each.slice.startswith(tuple(wanted.slice))]
    there = staged_samples(samples, root)
    return there or stage(samples, wanted.snapshots, root)


def _own(wanted: argparse.Namespace, root: Path, stack: ExitStack) -> int:
    """Only the tune half is mutated: a mutation's list names what it missed."""
    own = [each for each in read_own() if not wanted.slice or each.part.startswith(tuple(wanted.slice))]
    if wanted.mutate:
        return _mutations(stage_own([each for each in own if not each.held], root), root, stack)
    measured = measure(stage_own(own, root), root, programs=wanted.programs)
    ruleset = default_rulebook().digest
    if wanted.json:
        print(json.dumps(own_json(own, measured, ruleset)))
        return 0
    print(f"ruleset {ruleset}\n\n{own_table(own, measured)}")
    if wanted.own_ids:
        print(own_lists(own, measured))
    return 0


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
