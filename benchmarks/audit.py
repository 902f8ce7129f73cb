"""How fast the auditor reads and how much memory that takes, beside its peers, all in one run.

CPU time; engines in this process and without semgrep, bandit and model unless said otherwise. Whole public
collections where their snapshots are (`--snapshots`), else files of this installation. Report only, never a test.

    python benchmarks/audit.py [--megabytes 4] [--peers FOLDER] [--quick] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import audit_cache
from auditing.corpora import gather, skill_of_ten, skills_below, tree_of
from auditing.programs import cold, compare, install_peers, peak_megabytes
from auditing.speed import Speed, audit, measure_kind, measure_skills

TREE_FILES = 10_000
COMPARED = 8
READ = ("Markdown", "config", "shell")


def main() -> None:
    """Measure everything and print it."""
    wanted = _arguments()
    with tempfile.TemporaryDirectory(prefix="skillkeep-bench-") as folder:
        space = Path(folder)
        kinds, whole = gather(wanted.snapshots, space / "corpora", wanted.megabytes)
        ten = skill_of_ten(kinds, space / "ten")
        audit(ten)
        results: dict[str, Any] = {
            "load": os.getloadavg(),
            "from": "collections" if whole else "this installation",
            "speeds": [measure_kind(kind, root) for kind, root in kinds.items()],
            "warm": measure_skills(skills_below(whole)[:: wanted.every] if whole else [ten]),
            "cold": cold(ten, space / "home"),
            "cached": _cached(space),
        }
        if not wanted.quick:
            size = tree_of(TREE_FILES, kinds, space / "tree") / 1e6
            results["tree"] = (size, *peak_megabytes(space / "tree"))
        if wanted.peers:
            skills = skills_below(whole) if whole else [ten]
            every = max(1, len(skills) // COMPARED)
            results["peers"] = compare(install_peers(wanted.peers), skills[::every][:COMPARED], space / "home")
    if wanted.json:
        results["speeds"] = [asdict(each) for each in results["speeds"]]
        results["warm"] = asdict(results["warm"])
        print(json.dumps(results))
    else:
        _show(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--snapshots", type=Path, default=Path("/work/.mirror"), help="folder of owner+name/ snapshots")
    parser.add_argument("--megabytes", type=float, default=4.0, help="about as much of each kind of files")
    parser.add_argument("--peers", type=Path, help="install other scanners below this folder and run them too")
    parser.add_argument("--every", type=int, default=3, help="of the collections' skills, take each so manieth")
    parser.add_argument("--quick", action="store_true", help="leave the large tree out")
    parser.add_argument("--json", action="store_true", help="print data")
    return parser.parse_args()


def _cached(space: Path) -> dict[str, float]:
    """Audits out of the cache against hashing alone, of a small made tree and a larger one."""
    small, large = audit_cache.made(space / "small", 10, 4_000), audit_cache.made(space / "large", 200, 20_000)
    return {
        "10 files, 40 kB": audit_cache.measure("10 files, 40 kB", small, space / "cache-small"),
        "200 files, 4 MB": audit_cache.measure("200 files, 4 MB", large, space / "cache-large"),
    }


def _show(results: dict[str, Any]) -> None:
    speeds: list[Speed] = results["speeds"]
    print(f"\nfiles of {results['from']}, machine load {results['load'][0]:.1f}\n")
    print(f"{'kind':<11} {'files':>6} {'MB':>6} {'MB/s':>6} {'x ast.parse':>11} {'x sha256':>9} {'bandit':>8}  slowest")
    for each in speeds:
        parse = "" if each.against_parse is None else f"{each.against_parse:.2f}"
        bandit = "" if each.bandit_seconds is None else f"+{each.bandit_seconds:.1f} s"
        slowest = ", ".join(f"{engine} {spent:.2f} s" for engine, spent in each.engines)
        print(
            f"{each.kind:<11} {each.files:>6} {each.megabytes:>6.2f} {each.speed:>6.2f} {parse:>11} "
            f"{each.against_hashing:>9.4f} {bandit:>8}  {slowest}"
        )
    together = [each for each in speeds if each.kind in READ]
    size = sum(each.megabytes for each in together)
    seconds = sum(each.megabytes / each.speed for each in together)
    print(f"\nMarkdown, config and shell together: {size / seconds:.2f} MB/s (bar: 5)")
    warm = results["warm"]
    print(
        f"warm, {warm.skills} skills: median {warm.median:.1f} ms (bar: 20), 90 % {warm.ninetieth:.1f} ms, "
        f"most {warm.most:.0f} ms"
    )
    ours, bare = results["cold"]
    print(f"cold `auditor scan` of ten files: {ours / bare:.1f}x a bare interpreter ({ours * 1e3:.0f} ms, bar: 40x)")
    cached = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in results["cached"].items())
    print(f"unchanged content out of the cache, against hashing: {cached} (bar: 2x)")
    if "tree" in results:
        megabytes, peak, files = results["tree"]
        print(f"peak memory, {files} files of {megabytes:.0f} MB: {peak:.0f} MB (bar: 200)")
    for name, median, statuses in results.get("peers", ()):
        print(f"cold, a skill: {name:<14} {median:6.2f} s CPU  (exit codes {statuses})")


if __name__ == "__main__":
    main()
