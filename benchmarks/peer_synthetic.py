"""AIM with mbi's inference. Runs in mbi's own virtual environment, without Dalenius.

`python peer_synthetic.py IN.npz OUT.npz` reads rows, column sizes, groups of columns and rho, writes the shares that
the fitted model gives to each group, and prints JSON.

Reference: McKenna, Mullins, Sheldon & Miklau 2022 (arXiv:2201.12677), Algorithms 1 to 3. The noise is NumPy's.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from itertools import combinations
from math import pi, sqrt
from typing import Any

import jax
import numpy as np
from opt_einsum import contract
from scipy.special import logsumexp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from mbi import Domain, LinearMeasurement, MarkovRandomField, estimation, junction_tree

Group = tuple[str, ...]
ROUNDS_OF_COLUMN, ON_NOISE, LARGEST, STEPS = 16, 0.9, 80.0, 1000
"""The paper's rounds for each column, part of a round for its noise, and megabytes of a model; mbi's own steps."""


class Aim:
    """One run: what was measured so far, and what was spent on it."""

    def __init__(self, rows: dict[str, np.ndarray], domain: Domain, groups: Sequence[Group], rho: float) -> None:
        self.domain, self.rho, self.chance = domain, rho, np.random.default_rng()
        self.exact = {part: histogram(rows, domain, part) for part in closure(groups)}
        self.weights = {part: sum(len({*part} & {*group}) for group in groups) for part in self.exact}
        self.measured: list[LinearMeasurement] = []
        self.spent = 0.0
        self.rounds = 0
        self.fitting = 0.0

    def run(self) -> MarkovRandomField:
        count = ROUNDS_OF_COLUMN * len(self.domain)
        sigma, epsilon = sqrt(count / (2 * ON_NOISE * self.rho)), sqrt(8 * (1 - ON_NOISE) * self.rho / count)
        for part in [part for part in self.exact if len(part) == 1]:
            self.measure(part, sigma)
        model = self.fitted(None)
        while self.rho - self.spent > 1e-12 * self.rho:
            if self.rho - self.spent <= 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
                left = self.rho - self.spent
                sigma, epsilon = 1 / sqrt(2 * ON_NOISE * left), sqrt(8 * (1 - ON_NOISE) * left)
            part, before = self.choose(model, sigma, epsilon)
            self.measure(part, sigma)
            model = self.fitted(model)
            moved = np.abs(Beliefs(model).counts(part) - before).sum()
            self.rounds += 1
            if moved <= sqrt(2 / pi) * sigma * before.size:
                sigma, epsilon = sigma / 2, epsilon * 2
        return model

    def choose(self, model: MarkovRandomField, sigma: float, epsilon: float) -> tuple[Group, np.ndarray]:
        """The exponential mechanism on how wrong the model is, beyond what the noise of a measurement would hide."""
        allowed = self.allowed()
        beliefs = Beliefs(model)
        told = {part: beliefs.counts(part) for part in allowed}
        off = [np.abs(self.exact[part] - told[part]).sum() - sqrt(2 / pi) * sigma * told[part].size for part in allowed]
        scores = np.array([self.weights[part] for part in allowed]) * np.array(off)
        change = max(self.weights[part] for part in allowed)
        self.spent += epsilon**2 / 8
        part = allowed[int(np.argmax(epsilon * scores / (2 * change) + self.chance.gumbel(size=len(scores))))]
        return part, told[part]

    def allowed(self) -> list[Group]:
        """The groups that would not make the model larger than it may be by now."""
        known = [one.clique for one in self.measured]
        most = LARGEST * self.spent / self.rho
        size = junction_tree.hypothetical_model_size
        return [part for part in self.exact if size(self.domain, [*known, part]) <= most]

    def measure(self, part: Group, sigma: float) -> None:
        noisy = self.exact[part] + self.chance.normal(0, sigma, self.exact[part].size)
        self.spent += 1 / (2 * sigma**2)
        self.measured.append(LinearMeasurement(noisy, part, sigma))

    def fitted(self, start: MarkovRandomField | None) -> MarkovRandomField:
        begun = time.monotonic()
        model = estimation.MirrorDescent().estimate(self.domain, self.measured, iters=STEPS, warm_start=start)
        jax.block_until_ready(model.marginals)
        self.fitting += time.monotonic() - begun
        return model


def closure(groups: Sequence[Group]) -> list[Group]:
    """Every group inside one of these."""
    parts = {part for group in groups for size in range(1, len(group) + 1) for part in combinations(group, size)}
    return sorted(parts, key=lambda part: (len(part), part))


def histogram(rows: dict[str, np.ndarray], domain: Domain, group: Group) -> np.ndarray:
    cells = np.ravel_multi_index(tuple(rows[name] for name in group), tuple(domain[name] for name in group))
    return np.bincount(cells, minlength=domain.size(group)).astype(float)


class Beliefs:
    """The shares of a model in any group, from its potentials: a calibrated clique tree in NumPy.

    mbi compiles a program for each group that is asked for, which takes a second for each of hundreds in every round.
    """

    def __init__(self, model: MarkovRandomField) -> None:
        self.total, domain = float(model.total), model.domain
        self.places = {name: place for place, name in enumerate(domain)}
        self.tree, _ = junction_tree.make_junction_tree(domain, [tuple(part) for part in model.cliques])
        self.shares = {node: np.zeros([domain[name] for name in node]) for node in self.tree}
        for part in model.cliques:
            node = next(node for node in self.tree if {*part} <= {*node})
            self.shares[node] += self.spread(np.asarray(model.potentials[part].values, dtype=float), part, node)
        self.messages: dict[tuple[Group, Group], np.ndarray] = {}
        for node in self.tree:
            for other in self.tree[node]:
                self.message(node, other)
        self.shares = {node: self.share(node) for node in self.tree}

    def counts(self, group: Group) -> np.ndarray:
        """The expected counts, flat."""
        tree, factors = self.tree.copy(), list[object]()
        while True:
            leaves = [node for node in tree if self.idle(tree, node, group)]
            if not leaves:
                break
            tree.remove_node(leaves[0])
        for node in tree:
            factors += [self.shares[node], self.axes(node)]
        for node, other in tree.edges:
            common = tuple(name for name in node if name in other)
            share = self.summed(self.shares[node], node, common)
            factors += [np.divide(1, share, out=np.zeros_like(share), where=share > 0), self.axes(common)]
        return self.total * np.asarray(contract(*factors, self.axes(group), optimize="greedy")).ravel()

    def idle(self, tree: Any, node: Group, group: Group) -> bool:
        """Whether a leaf tells nothing about a group that its neighbour does not."""
        near, wanted = list(tree[node]), {*node} & {*group}
        return not wanted if not near else len(near) == 1 and wanted <= {*near[0]}

    def message(self, node: Group, to: Group) -> np.ndarray:
        if (node, to) not in self.messages:
            common = tuple(name for name in node if name in to)
            told = self.shares[node] + sum(self.heard(other, node) for other in self.tree[node] if other != to)
            rest = tuple(axis for axis, name in enumerate(node) if name not in common)
            self.messages[node, to] = np.asarray(logsumexp(told, axis=rest) if rest else told)
        return self.messages[node, to]

    def heard(self, other: Group, node: Group) -> np.ndarray:
        common = tuple(name for name in other if name in node)
        return self.spread(self.message(other, node), common, node)

    def share(self, node: Group) -> np.ndarray:
        told = self.shares[node] + sum(self.heard(other, node) for other in self.tree[node])
        return np.exp(told - logsumexp(told))

    def spread(self, values: np.ndarray, part: Group, node: Group) -> np.ndarray:
        """The axes of a part, in the order and at the places that they have in a clique."""
        ordered = np.transpose(values, [part.index(name) for name in node if name in part])
        return ordered.reshape([self.size(values, part, name) for name in node])

    def size(self, values: np.ndarray, part: Group, name: str) -> int:
        return values.shape[part.index(name)] if name in part else 1

    def summed(self, values: np.ndarray, node: Group, group: Group) -> np.ndarray:
        return np.einsum(values, self.axes(node), self.axes(group))

    def axes(self, group: Group) -> list[int]:
        return [self.places[name] for name in group]


def main(given: str, written: str) -> None:
    with np.load(given) as stored:
        columns, rho = [str(name) for name in stored["columns"]], float(stored["rho"])
        domain = Domain.fromdict(dict(zip(columns, map(int, stored["sizes"]), strict=True)))
        rows = dict(zip(columns, stored["rows"].T, strict=True))
        groups = [tuple(columns[place] for place in places) for places in stored["groups"]]
    begun, worked = time.monotonic(), time.process_time()
    run = Aim(rows, domain, groups, rho)
    beliefs = Beliefs(run.run())
    shares = [beliefs.counts(group) / beliefs.total for group in groups]
    seconds, work = time.monotonic() - begun, time.process_time() - worked
    np.savez(written, *shares)
    told = {"version": version("mbi"), "seconds": seconds, "work": work, "fitting": run.fitting, "rounds": run.rounds}
    print(json.dumps({**told, "spent": run.spent}))


if __name__ == "__main__":
    main(*sys.argv[1:])
