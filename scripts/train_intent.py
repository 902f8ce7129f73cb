"""Learn the weights of ``rules/learned/intent.json`` from labelled passages and honest pages.

    python scripts/train_intent.py HONEST... [--anew] [--writers NUMBER...] [--write]

HONEST are folders of honest tools, ``<repository>/<tool>/``, such as `benchmarks/score.py` stages, without those that
another rule than the model's refuses. The labelled passages are the ``tune-*passages*`` of ``benchmarks/samples``, and
what tells hostile whole tools from their honest twins there. Needs scipy, which nothing else here does: install it
where you run this.

Weights start from those that are written, and each step away from them costs as a weight does (a Gaussian prior around
them): what was learnt from honest pages that are no longer at hand is kept unless new ones speak against it. --anew
forgets them.

Prints what carries over: recall on passages of writers, and alarms on tools of repositories, that a model was not
shown. Only --writers (those that the written weights have not seen) are left out in turn, or all of them with --anew.
With --write a model is fitted to everything and written; thresholds are those that were found that way with --anew, and
stay as they are else (but for --blocking), since the written weights have seen most repositories.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, vstack
from scipy.special import expit

from skillkeep.auditor.engines.intent.learned import BETWEEN, FEW, Weights, passages, weights
from skillkeep.auditor.pages import is_instructing

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "benchmarks" / "samples"
WEIGHTS = ROOT / "rules" / "learned" / "intent.json"
HEAD = re.compile(r"\A---\n.*?\n---\n\s*(?:# Page\n\nHelps with the task at hand\.\n\n)?", re.DOTALL)
WRITER = re.compile(r"tune-p(\d+)-")

FOLDS = 4  # each leaves out a part of the writers and of the honest repositories
REPOSITORIES = 12  # a word that no labelled passage has counts when honest pages of so many repositories have it
HARD = 80_000  # passages of honest pages that look most like attacks count three times
SHOWN = 250_000
BLOCKING, DOUBTFUL = 0.002, 0.015  # shares of unseen honest tools that reach a threshold
PLAIN, SUSPECT = -3.4, -1.3  # scores: where a rule found something, of its block and of ten words of its sentence
PLAIN_PRIVATE, SUSPECT_PRIVATE = -4.92, -2.0  # the same where it found that something private leaves
CERTAIN = 5.0  # on pages that do not instruct by their names, of which it learns nothing (docs/adr/0012)
SMALLEST = 0.8  # weights nearer to nothing are left out
SCALE = 100
MOST_READ = 200_000  # characters of a page
MOST_TOLD = 4  # blocks in which twins differ; more than an order against its user
FIRST_PAIRED = 1000  # the numbers of writers of whole tools
MOST_SHOWN = 90  # passages of one honest tool that are learnt from; all of them count when a threshold is looked for
RESERVED = "invalid"  # our samples' hosts end so; what is left of one that was cut must not count
WEIGHT_OF_ATTACK, WEIGHT_OF_NEAR = 12.0, 5.0
REGULAR = 30.0
STEPS = 200


@dataclass(frozen=True)
class Labelled:
    """One passage of a writer: the features of all of it, and of each passage in it."""

    writer: int
    whole: frozenset[str]
    parts: list[frozenset[str]]


def told_apart() -> tuple[list[Labelled], list[Labelled]]:
    """What only the hostile one, and what only the honest one, of two twins says: whole tools, alike but for that."""
    found: tuple[list[Labelled], list[Labelled]] = ([], [])
    paths = sorted(SAMPLES.glob("tune-instruction*.jsonl"))
    known = {
        sample["id"]: sample
        for path in (*paths, *sorted(SAMPLES.glob("tune-benign*.jsonl")))
        for sample in map(json.loads, path.read_text().splitlines())
    }
    for number, path in enumerate(paths):
        for sample in map(json.loads, path.read_text().splitlines()):
            twin = known.get(sample.get("twin", ""))
            for one, other, label in ((sample, twin, 0), (twin, sample, 1)) if twin else ():
                same = {part.features for text in _pages_of(other) for part in passages(text)}
                only = [part for text in _pages_of(one) for part in passages(text) if part.features not in same]
                blocks = [part.features for part in only if part.start == part.last]
                if blocks and len(blocks) <= MOST_TOLD:
                    whole = frozenset().union(*blocks)
                    found[label].append(Labelled(FIRST_PAIRED + number, whole, [part.features for part in only]))
    return found


def _pages_of(sample: dict[str, Any]) -> list[str]:
    return [text for name, text in sample["files"].items() if name.lower().endswith((".md", ".mdx"))]


@dataclass(frozen=True)
class Honest:
    """One tool of a repository, with the features of each passage of its instructing pages."""

    repository: str
    name: str
    parts: list[np.ndarray[Any, Any]]  # hashes


def labelled(label: str) -> list[Labelled]:
    """The labelled passages that may be read."""
    found = []
    for path in sorted(SAMPLES.glob("tune-passages*.jsonl")):
        for line in path.read_text().splitlines():
            sample = json.loads(line)
            writer = WRITER.match(sample["id"])
            if sample["label"] != label:
                continue
            for text in sample["files"].values():
                parts = [each.features for each in passages(HEAD.sub("", text))]
                if parts:
                    found.append(Labelled(int(writer[1]) if writer else 0, frozenset().union(*parts), parts))
    return found


def honest(folders: Iterable[Path]) -> Iterator[Honest]:
    """Tools below `folders`."""
    for tool, texts in pages(folders):
        parts = [hashes(each.features) for text in texts for each in passages(text)]
        if parts:
            yield Honest(tool.parent.name, tool.name, parts)


def pages(folders: Iterable[Path]) -> Iterator[tuple[Path, list[str]]]:
    """Each tool below `folders` with the texts of its instructing pages."""
    for folder in folders:
        for tool in sorted(folder.glob("*/*/")):
            paths = [Path(place) / name for place, _, names in os.walk(tool) for name in sorted(names)]
            some = [path for path in paths if path.suffix.lower() in {".md", ".mdx"}]
            some = [path for path in some if is_instructing(path.relative_to(tool).as_posix())]
            yield tool, [path.read_text(errors="replace")[:MOST_READ] for path in some]


def hashes(found: Iterable[str]) -> np.ndarray[Any, Any]:
    """What a feature is counted under here; alike only within one process."""
    return np.fromiter((hash(each) for each in found), dtype=np.int64)


class Space:
    """Columns for features."""

    def __init__(self, known: np.ndarray[Any, Any]) -> None:
        self.known = np.unique(known)

    def rows(self, many: Sequence[np.ndarray[Any, Any]]) -> csr_matrix:
        """One row a passage: each feature 1 / sqrt(number of features, unknown ones too, but `FEW` at least)."""
        sizes = np.fromiter((len(each) for each in many), dtype=np.int64, count=len(many))
        flat = np.concatenate(many) if many else np.zeros(0, dtype=np.int64)
        owner = np.repeat(np.arange(len(many)), sizes)
        at = np.minimum(np.searchsorted(self.known, flat), len(self.known) - 1)
        keep = self.known[at] == flat
        data = (1 / np.sqrt(np.maximum(sizes, FEW)))[owner[keep]].astype(np.float32)
        return csr_matrix((data, (owner[keep], at[keep])), shape=(len(many), len(self.known)))


def _some(tool: Honest) -> list[np.ndarray[Any, Any]]:
    """At most `MOST_SHOWN` passages, the same ones each time: a manual is no more than many tools."""
    random = np.random.default_rng(len(tool.parts))
    return [tool.parts[at] for at in np.sort(random.permutation(len(tool.parts))[:MOST_SHOWN])]


def space_of(
    attacks: Sequence[Labelled], near: Sequence[Labelled], tools: Sequence[Honest], written: Weights | None
) -> Space:
    """Features of labelled passages, those that honest pages of many repositories have, and what is `written`."""
    by_repository: dict[str, list[np.ndarray[Any, Any]]] = {}
    for tool in tools:
        by_repository.setdefault(tool.repository, []).append(np.unique(np.concatenate(_some(tool))))
    each, counts = np.unique(
        np.concatenate([np.unique(np.concatenate(some)) for some in by_repository.values()]), return_counts=True
    )
    own = [hashes(passage.whole) for passage in (*attacks, *near)]
    return Space(np.concatenate([each[counts >= REPOSITORIES], *own, hashes(written.of if written else ())]))


@dataclass(frozen=True)
class Model:
    """A weight for each column of a `Space`, and a bias."""

    of: np.ndarray[Any, Any]
    bias: float

    def scores(self, rows: csr_matrix) -> np.ndarray[Any, Any]:
        """The higher, the more a row reads like an order against the user."""
        return rows @ self.of + self.bias


def before(space: Space, written: Weights | None) -> Model:
    """What is `written`, as a model of `space`; nothing at all without."""
    of = np.zeros(len(space.known))
    if written is None:
        return Model(of, 0.0)
    names_of = list(written.of)
    of[np.searchsorted(space.known, hashes(names_of))] = np.fromiter(written.of.values(), dtype=float)
    return Model(of, written.bias)


def fitted(
    space: Space, attacks: Sequence[Labelled], near: Sequence[Labelled], rows: csr_matrix, start: Model
) -> Model:
    """A model of these passages and of honest `rows`, of which those that a first one takes for attacks count more."""
    random = np.random.default_rng(1)
    first = rows[np.sort(random.choice(rows.shape[0], min(SHOWN, rows.shape[0]), replace=False))]
    bad, good = (space.rows([hashes(each.whole) for each in some]) for some in (attacks, near))

    def fit(of_honest: csr_matrix, at: Model) -> Model:
        data = csr_matrix(vstack([bad, good, of_honest]), dtype=np.float64)
        signs = np.concatenate([np.ones(bad.shape[0]), -np.ones(good.shape[0] + of_honest.shape[0])])
        costs = np.full(data.shape[0], REGULAR)
        costs[: bad.shape[0]] *= WEIGHT_OF_ATTACK
        costs[bad.shape[0] : bad.shape[0] + good.shape[0]] *= WEIGHT_OF_NEAR
        turned, prior = data.T.tocsr(), np.append(start.of, start.bias)

        def loss(found: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
            margins = signs * (data @ found[:-1] + found[-1])
            pull, away = -signs * costs * expit(-margins), found - prior
            slope = np.append(turned @ pull, pull.sum()) + away
            return float(costs @ np.logaddexp(0, -margins) + away @ away / 2), slope

        found = minimize(loss, np.append(at.of, at.bias), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
        return Model(found[:-1], float(found[-1]))

    model = fit(first, start)
    hard = rows[np.argsort(-model.scores(rows))[:HARD]]
    return fit(vstack([first, hard, hard]), model)


def worst(model: Model, space: Space, many: Sequence[Sequence[np.ndarray[Any, Any]]]) -> Any:
    """The highest score of the passages of each."""
    scores = model.scores(space.rows([part for parts in many for part in parts]))
    found = np.full(len(many), -99.0)
    np.maximum.at(found, np.repeat(np.arange(len(many)), [len(parts) for parts in many]), scores)
    return found


def part(repository: str) -> int:
    """Which part of the honest repositories one is in."""
    return hashlib.sha256(repository.encode()).digest()[0] % FOLDS


def carried_over(
    attacks: Sequence[Labelled],
    near: Sequence[Labelled],
    tools: Sequence[Honest],
    written: Weights | None,
    writers: Sequence[int],
) -> dict[float, float]:
    """Print what unseen writers and repositories say; the mean threshold of each rate of alarms."""
    found: dict[float, list[tuple[float, float, float]]] = {}
    for fold in range(FOLDS):
        out = set(writers[fold::FOLDS])
        seen = [tool for tool in tools if part(tool.repository) != fold]
        unseen = [tool for tool in tools if part(tool.repository) == fold]
        shown = [each for each in attacks if each.writer not in out]
        shown_near = [each for each in near if each.writer not in out]
        space = space_of(shown, shown_near, seen, written)
        start = before(space, written)
        rows = space.rows([part for tool in seen for part in _some(tool)])
        now = ("now", fitted(space, shown, shown_near, rows, start))
        for what, model in (("before", start), now) if written is not None else (now,):
            alarms = worst(model, space, [tool.parts for tool in unseen])
            caught, mistaken = (
                worst(model, space, [[hashes(part) for part in each.parts] for each in some if each.writer in out])
                for some in (attacks, near)
            )
            if written is not None:
                shares = [(some > written.blocking).mean() for some in (caught, mistaken, alarms)]
                print(fold, sorted(out), what, *(f"{share:.1%}" for share in shares), flush=True)
        for rate in (BLOCKING, 0.003, 0.005, 0.007, 0.01, DOUBTFUL, 0.05):
            at = float(np.quantile(alarms, 1 - rate))
            found.setdefault(rate, []).append((float((caught > at).mean()), float((mistaken > at).mean()), at))
    for rate, some in found.items():
        recall, mistaken, at = (sum(each[number] for each in some) / FOLDS for number in range(3))
        print(
            f"honest tools {rate:6.1%}  attacks {recall:6.1%}  near-misses {mistaken:6.1%}  from {at:.2f}", flush=True
        )
    return {rate: sum(each[2] for each in some) / FOLDS for rate, some in found.items()}


def names(
    space: Space, attacks: Sequence[Labelled], near: Sequence[Labelled], folders: Sequence[Path]
) -> dict[int, str]:
    """The features of the columns as they are spelled."""
    wanted = set(space.known.tolist())
    spelled = {hash(each): each for passage in (*attacks, *near) for each in passage.whole}
    for _, texts in pages(folders):
        for text in texts:
            for passage in passages(text):
                spelled |= {hash(each): each for each in passage.features if hash(each) in wanted}
    return {number: name for number, name in spelled.items() if number in wanted}


def grouped(kept: Mapping[str, int]) -> dict[str, str]:
    """The features of each weight, as they are read quickest."""
    found: dict[int, list[str]] = {}
    for name, weight in sorted(kept.items()):
        found.setdefault(weight, []).append(name)
    return {str(weight): BETWEEN.join(found[weight]) for weight in sorted(found)}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("honest", nargs="+", type=Path)
    parser.add_argument("--anew", action="store_true", help="without the weights that are written")
    parser.add_argument("--writers", nargs="+", type=int, default=[], help="numbers of those that they have not seen")
    parser.add_argument("--blocking", type=float, help="the score to block from, instead of the written one")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    written = None if given.anew else weights()
    attacks, near, tools = labelled("malicious"), labelled("benign"), list(honest(given.honest))
    for known, more in zip((attacks, near), told_apart(), strict=True):
        known.extend(more)
    print(f"{len(attacks)} attacks, {len(near)} near-misses, {len(tools)} honest tools", flush=True)
    writers = given.writers or sorted({each.writer for each in attacks})
    from_scores = carried_over(attacks, near, tools, written, writers)
    if not given.write:
        return
    space = space_of(attacks, near, tools, written)
    rows = space.rows([part for tool in tools for part in _some(tool)])
    model = fitted(space, attacks, near, rows, before(space, written))
    spelled = names(space, attacks, near, given.honest)
    spelled |= {hash(each): each for each in written.of} if written else {}
    kept = {
        spelled[number]: round(float(weight) * SCALE)
        for number, weight in zip(space.known.tolist(), model.of, strict=True)
        if abs(weight) >= SMALLEST and number in spelled and RESERVED not in spelled[number].split(" ")
    }
    body = {
        "bias": round(model.bias, 4),
        "blocking": given.blocking or (written.blocking if written else round(from_scores[BLOCKING], 2)),
        "doubtful": written.doubtful if written else round(from_scores[DOUBTFUL], 2),
        "plain": PLAIN,
        "suspect": SUSPECT,
        "plain_private": PLAIN_PRIVATE,
        "suspect_private": SUSPECT_PRIVATE,
        "certain": CERTAIN,
        "scale": SCALE,
        "weights": grouped(kept),
    }
    WEIGHTS.parent.mkdir(exist_ok=True)
    WEIGHTS.write_text(json.dumps(body, indent=0, ensure_ascii=False) + "\n")
    print(f"{len(kept)} weights, {WEIGHTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
