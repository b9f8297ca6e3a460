"""A question that was asked of a server and not yet paid for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from dalenius.errors import DaleniusError, InvalidParameter, WorkStopped
from dalenius.privacy.numbers import Number
from dalenius.query.tables import ContributionBounds
from dalenius.server.client.bodies import attempt_key, offer
from dalenius.server.client.replies import answer, cost, expected_errors
from dalenius.server.client.wire import Wire, as_given, raised
from dalenius.session.answers.answers import Answer
from dalenius.session.progress import Progress
from dalenius.session.purchases import Cost
from dalenius.session.query import Derivation, Errors, ExpectedErrors, Weights, unpaid

POLL_SECONDS = 0.5


class RemoteQuery:
    """A question, bound and checked at the server, that nobody has paid for yet.

    The methods are those of `Query`, with the same results and errors.
    """

    def __init__(self, wire: Wire, sql: str, most: ContributionBounds | None, text: str = "") -> None:
        self._wire, self._sql, self._most, self.text = wire, sql, most, text

    def __repr__(self) -> str:
        return unpaid(self.text)

    def check(self) -> None:
        """Refuse what cannot be answered; whatever else is wrong shows when a price is named."""
        with contextlib.suppress(InvalidParameter):
            self._sent("explain", {})

    def cost(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
    ) -> Cost:
        """What it would cost, as a loss and as a share of each population's budget."""
        given = {"epsilon": epsilon, "share": share, "error": error, "size": size, "level": level, "weights": weights}
        return cost(self._sent("price", given))

    def expected_error(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
    ) -> ExpectedErrors:
        """The error bar that each output column is expected to have; `size` is the number of rows of a group."""
        given = {"epsilon": epsilon, "share": share, "error": error, "level": level, "weights": weights}

        def at(column: str, rows: int) -> float:
            return float(self._sent("expected-error", {**given, "size": rows})["columns"][column]["at"])

        return expected_errors(self._sent("expected-error", {**given, "size": size}), at)

    def explain(
        self, *, epsilon: Number | None = None, share: Number | None = None, weights: Weights | None = None
    ) -> Derivation:
        """The derivation: unit, stability of each step, clamps, mechanism, theorem, loss and the engine's SQL.

        Without a price it is shown for one percent of the budget.
        """
        given = {"epsilon": epsilon, "share": share, "weights": weights}
        return Derivation(self._sent("explain", given)["derivation"])

    def rehearse(
        self, *, epsilon: Number | None = None, share: Number | None = None, level: Number | None = None
    ) -> Answer:
        """The answer on made-up tables with the public schema, for one percent of the budget unless told otherwise.

        Nothing is read or charged, and its numbers mean nothing.
        """
        return answer(self._sent("rehearse", {"epsilon": epsilon, "share": share, "level": level}))

    def run(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
        nonnegative: bool = False,
        digits: int | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Answer:
        """Charge, and answer. A refusal charges nothing; work that fails afterwards stays charged.

        A reply that is lost on the way is asked for again and charged once, by a key that is made here unless you give
        one. With `progress` the work is a job at the server, which may take longer than a reply; it is called twice a
        second, and an interrupt stops the job.
        """
        given = {
            "epsilon": epsilon, "share": share, "error": error, "size": size, "level": level, "weights": weights,
            "nonnegative": nonnegative, "digits": digits, "fresh": fresh,
        }  # fmt: skip
        name = attempt_key(key)
        if progress is None:
            return answer(self._sent("run", given, key=name))
        return self._followed(str(self._sent("jobs", given, key=name)["job"]), progress)

    def _followed(self, job: str, progress: Callable[[Progress], object]) -> Answer:
        """The answer of a job, waited for."""
        path = f"/v1/jobs/{quote(job, safe='')}"
        try:
            while (facts := self._wire.get(path))["state"] == "running":
                progress(Progress(facts["seconds"], facts.get("percent")))
                time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            self._wire.delete(path)
            raise KeyboardInterrupt(str(WorkStopped())) from None
        if facts["state"] == "stopped":
            raise raised(facts) if facts.get("error") else WorkStopped
        return answer(facts)

    def _sent(self, route: str, given: Mapping[str, Any], *, key: str | None = None) -> Mapping[str, Any]:
        fields = offer(**given)
        body = {"sql": self._sql, **fields}
        if self._most is not None:
            body |= {"max_rows": self._most.rows, "max_groups": self._most.groups}
        try:
            return self._wire.post(f"/v1/{route}", body, key=key)
        except InvalidParameter as refused:
            raise _shown(refused, fields, given) from None


def _shown(refused: DaleniusError, sent: Mapping[str, Any], given: Mapping[str, Any]) -> DaleniusError:
    for name, value in sent.items():
        refused = as_given(refused, name, value, given[name])
    return refused
