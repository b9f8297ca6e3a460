"""An audit of any function by running it: a verdict, the event that shows it, the counts and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from dalenius.accounting.conversion import to_approximate, to_pure
from dalenius.audit.outputs import gathered
from dalenius.audit.pictures import Picture, picture
from dalenius.audit.running import Progress, at_once, one_by_one, takes_size
from dalenius.audit.sampling import Finding, Gap, least_delta, least_epsilon
from dalenius.curator.answers.charts import Chart
from dalenius.errors import InvalidParameter, TheoremDoesNotApply
from dalenius.privacy.losses import ApproximateDP, Loss, PureDP
from dalenius.privacy.numbers import Number, inside_unit, positive, whole
from dalenius.verify.checked import Claim, stated_claim

Input = TypeVar("Input")
Verdict: TypeAlias = Literal["refuted", "no violation found"]

BESIDE = Fraction(1, 100)
"""Where a claim states no epsilon, as zCDP does, its epsilon is taken at this much above the delta that it has."""


@dataclass(frozen=True)
class AuditReport:
    """What running a release proved about its claim.

    `epsilon` is a lower bound at the claim's delta; for a claim with a delta, `delta` is a lower bound at the claim's
    epsilon. Both hold together at the stated confidence. "no violation found" says that these samples on this pair show
    none, and never that the release is private.
    """

    claim: Loss
    tested: ApproximateDP
    finding: Finding
    gap: Gap | None
    confidence: Fraction
    samples: int
    picture: Picture = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        refuted = self.finding.refutes(epsilon=self.tested.epsilon)
        refuted = refuted or (self.gap is not None and self.gap.refutes(delta=self.tested.delta))
        return "refuted" if refuted else "no violation found"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    @property
    def epsilon(self) -> Fraction:
        return self.finding.epsilon

    @property
    def delta(self) -> Fraction | None:
        return self.gap.delta if self.gap else None

    @property
    def _shown(self) -> Finding | Gap:
        """The part that tells most about the claim."""
        by_gap = self.gap is not None and self.gap.refutes(delta=self.tested.delta)
        return self.gap if self.gap is not None and by_gap else self.finding

    @property
    def event(self) -> str:
        """In words, the outputs that tell the two inputs apart best."""
        return self._shown.event

    @property
    def counts(self) -> tuple[int, int]:
        """How many tested outputs of the first and of the second input were in the event."""
        return self._shown.counts

    def plot(self, path: str | Path | None = None) -> Chart:
        """The two distributions as bars, also written to `path` (.svg or .png) if there is one.

        Needs the extra `plot`.
        """
        return self.picture.plot(path)

    def __str__(self) -> str:
        return "\n".join([*self._said(), "", str(self.picture)])

    def _repr_html_(self) -> str:
        said = "<br>".join(map(escape, self._said()))
        return f"<div><p>{said}</p><pre>{escape(str(self.picture))}</pre></div>"

    def _said(self) -> list[str]:
        found, claimed = self._shown, self.tested
        bound = f"epsilon is at least {float(self.epsilon):.4g}, claimed is {float(claimed.epsilon):.4g}"
        if self.gap is not None:
            bound += f" (at delta = {float(claimed.delta):.3g})"
        lines = [f"{self.verdict}: {bound}"]
        if self.gap is not None:
            least = f"delta is at least {float(self.gap.delta):.3g}, claimed is {float(claimed.delta):.3g}"
            lines.append(f"{least} (at epsilon = {float(claimed.epsilon):.4g})")
        p, q = (f"{count} of {found.samples}" for count in found.counts)
        lines.append(f"event: {found.event}; seen in {p} outputs of the first input and {q} of the second")
        lines.append(f"{self.samples} samples of each input, confidence {float(self.confidence):.10g}")
        return lines if self.refuted else [*lines, "this is a lower bound: it cannot show that the release is private"]


def audit(
    release: Callable[..., Any],
    first: Input,
    second: Input,
    *,
    claim: Claim,
    samples: int = 100_000,
    confidence: Number = "0.999",
    vectorised: bool | None = None,
    seconds: Number | None = None,
    progress: Progress = lambda percent: None,
) -> AuditReport:
    """Run `release` on two neighbouring inputs, and say whether its claim can be true.

    `release(data)` gives one output; if it is `vectorised`, `release(data, size)` gives `size` independent outputs,
    which is far quicker. Where `vectorised` is not said, a function that needs two arguments, or whose second one is
    called `size`, is taken to be so. Outputs may be of any kind: numbers, vectors, texts, None, tuples, dictionaries,
    objects by what they hold; an error counts as an output too, with its text. `claim` is a number (a pure epsilon), a
    pair (epsilon, delta), or a loss. `seconds` limits the time that single runs take, and is refused where it is too
    short for 40 of them.

    Guarantee: if the claim is true and the inputs are neighbours, the verdict is "refuted" with probability at most
    1 - confidence. Where epsilon and delta are both tested, each has half of that.
    Reference: see `sampling_audit`; Bichsel et al. 2021 (DP-Sniper) for the shape of the search.
    Textbook: S7.7.
    """
    size, sure = whole(4, samples=samples), inside_unit(confidence=confidence)
    if not callable(release):
        raise InvalidParameter("release", release, allowed="a function of the data")
    limit = None if seconds is None else float(positive(seconds=seconds))
    loss = stated_claim(claim)
    tested = tested_at(loss)
    if takes_size(release) if vectorised is None else vectorised:
        outputs = gathered(*at_once(release, first, second, size, seconds=limit, progress=progress))
    else:
        outputs = gathered(*one_by_one(release, first, second, size, seconds=limit, progress=progress))
    each = 1 - (1 - sure) / 2 if tested.delta else sure
    return AuditReport(
        claim=loss,
        tested=tested,
        finding=least_epsilon(outputs, delta=tested.delta, confidence=each),
        gap=least_delta(outputs, epsilon=tested.epsilon, confidence=each) if tested.delta else None,
        confidence=sure,
        samples=outputs.samples,
        picture=picture(outputs),
    )


def tested_at(loss: Loss) -> ApproximateDP:
    """The epsilon and delta that a claim is tested at."""
    if isinstance(loss, PureDP | ApproximateDP):
        return ApproximateDP(loss.epsilon, loss.delta)
    try:
        return ApproximateDP(to_pure(loss).epsilon, 0)
    except TheoremDoesNotApply:
        return to_approximate(loss, delta=loss.delta + BESIDE)
