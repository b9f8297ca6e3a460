"""`dalenius ask`, `cost`, `explain` and `rehearse`."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from dalenius.cli.bars import answer_bars
from dalenius.cli.sessions import AnyAsked, AnySession, asking
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import REFUSED, STOPPED
from dalenius.errors import DaleniusError, InvalidParameter
from dalenius.lazy import optional
from dalenius.ledger.names import as_share, percent
from dalenius.measuring.expectations import ExpectedError
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.charts import require_kind
from dalenius.session.answers.encoding import encoded
from dalenius.session.purchases import Cost

_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=(.*)", re.DOTALL)


def ask(chosen: argparse.Namespace, terminal: Terminal) -> int | None:
    """Show price and expected error to a person, and ask once they agree."""
    _require_writable(chosen)
    with asking(chosen) as session:
        question, price = _question(session, chosen, terminal), _price(chosen)
        if chosen.at_most is not None:
            _require_at_most(chosen.at_most, question.cost(**price))
        if terminal.talks and not chosen.yes:
            cost = question.cost(**price)
            terminal.tell(_offer(cost, question.expected_error(**price)))
            if not terminal.agreed("Ask it?"):
                terminal.tell("dalenius: not asked; nothing was charged.")
                return REFUSED
        form = {"nonnegative": chosen.nonnegative, "digits": chosen.digits, "key": chosen.key, "fresh": chosen.fresh}
        with terminal.progress("working") as progress:
            answer = question.run(**price, **form, progress=progress)
    return _delivered(answer, chosen, terminal)


def _require_at_most(given: str, cost: Cost) -> None:
    """Refuse a price above the one that was said, such as an error's that turns out dear."""
    limit, dearest = as_share(given), max(cost.shares.values(), default=Fraction(0))
    if dearest > limit:
        shares = ", ".join(f"{percent(share)} of {name}" for name, share in cost.shares.items())
        raise InvalidParameter("--at-most", given, allowed=f"as much as it costs, {shares}")


def rehearse(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """The answer on made-up rows."""
    _require_writable(chosen)
    price = {"epsilon": chosen.epsilon, "share": chosen.share, "level": chosen.level}
    with asking(chosen) as session:
        answer = _question(session, chosen, terminal).rehearse(**price)
    _show(answer, chosen, terminal)
    _write(answer, chosen, terminal)


def cost(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What it would cost, and which error to expect."""
    with asking(chosen) as session:
        question, price = _question(session, chosen, terminal), _price(chosen)
        found = question.cost(**price)
        errors = question.expected_error(**price)
    if chosen.json:
        terminal.show_json(
            {**_cost_facts(found), "expected_error": {name: _error(each) for name, each in errors.items()}}
        )
    else:
        terminal.show(_offer(found, errors))


def explain(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """The derivation."""
    with asking(chosen) as session:
        text = _question(session, chosen, terminal).explain(epsilon=chosen.epsilon, share=chosen.share)
    terminal.report({"derivation": str(text)}, text, as_json=chosen.json)


# ---- what was typed


def _question(session: AnySession, chosen: argparse.Namespace, terminal: Terminal) -> AnyAsked:
    text = terminal.given.read() if chosen.sql == "-" else chosen.sql
    return session.sql(text, max_rows=chosen.max_rows, max_groups=chosen.max_groups)


def _price(chosen: argparse.Namespace) -> dict[str, Any]:
    return {
        "epsilon": chosen.epsilon,
        "share": chosen.share,
        "error": _errors(chosen.error or []),
        "size": chosen.size,
        "level": chosen.level,
        "weights": _weights(chosen.weight or []),
    }


def _errors(given: list[str]) -> str | dict[str, str] | None:
    """One error for all columns, or one for each that was named: visits=50."""
    named = [_NAMED.fullmatch(text) for text in given]
    if not any(named) and len(given) <= 1:
        return given[0] if given else None
    if not all(named):
        raise InvalidParameter("--error", given, allowed="one error for all columns, or COLUMN=ERROR for each")
    return {found[1]: found[2].strip() for found in named if found}


def _weights(given: list[str]) -> dict[str, str] | None:
    found = [_NAMED.fullmatch(text) for text in given]
    if not all(found):
        raise InvalidParameter("--weight", given, allowed="COLUMN=W, such as visits=2")
    return {each[1]: each[2].strip() for each in found if each} or None


# ---- what is shown


def _offer(cost: Cost, errors: Mapping[str, ExpectedError]) -> str:
    lines = [f"  {name}: {error}" for name, error in errors.items()]
    if any("/ n" in line for line in lines):
        lines.append("  (n is the number of rows of the group; --size N works it out)")
    return "\n".join(["expected error:", *lines, str(cost)])


def _cost_facts(cost: Cost) -> dict[str, Any]:
    people = {
        name: {"share": str(share), "epsilon": str(cost.epsilons[name]), "left": _or_none(cost.left[name])}
        for name, share in cost.shares.items()
    }
    return {
        "loss": str(cost.loss),
        "populations": people,
        "affordable": cost.affordable,
        "more": cost.more,
        "note": cost.note,
    }


def _or_none(share: object) -> str | None:
    return None if share is None else str(share)


def _error(error: ExpectedError) -> dict[str, Any]:
    return {"text": str(error), "level": str(error.level), "fixed": _or_none(error.fixed)}


def answer_facts(answer: Answer) -> dict[str, Any]:
    """An answer as a server sends it."""
    return {"answer": json.loads(encoded(answer)), "left": answer.left, "replayed": answer.replayed}


def _require_writable(chosen: argparse.Namespace) -> None:
    """Refuse files that cannot be written, as long as nothing is charged."""
    if chosen.plot is not None:
        require_kind(chosen.plot)
        optional("matplotlib.figure", function="--plot", extra="plot")
    for name, given in (("--arrow", chosen.arrow), ("--plot", chosen.plot)):
        if given is not None and (Path(given).is_dir() or not os.access(Path(given).parent, os.W_OK | os.X_OK)):
            raise InvalidParameter(name, given, allowed="a file in a folder that is there and can be written to")


def _delivered(answer: Answer, chosen: argparse.Namespace, terminal: Terminal) -> int | None:
    """Show an answer that was paid for, whatever becomes of the files that it should go to as well."""
    _show(answer, chosen, terminal)
    try:
        _write(answer, chosen, terminal)
    except BrokenPipeError:
        raise
    except (DaleniusError, OSError, ValueError) as error:
        if chosen.arrow is not None:
            terminal.show(answer)
        why = "a file could not be written"  # the words of others could name a value
        if isinstance(error, InvalidParameter):
            why = f"the {error.name} must be {error.allowed}"
        terminal.tell(
            f"dalenius: the answer was charged, but {why}. "
            f"`dalenius replays {chosen.place} {answer.receipt}` shows it again, for free."
        )
        return STOPPED
    return None


def _show(answer: Answer, chosen: argparse.Namespace, terminal: Terminal) -> None:
    if chosen.json:
        terminal.show_json(answer_facts(answer))
    elif chosen.csv:
        terminal.shown.write(answer.to_csv())
    elif chosen.arrow is None:
        terminal.show(answer)


def _write(answer: Answer, chosen: argparse.Namespace, terminal: Terminal) -> None:
    if chosen.arrow is not None:
        _write_arrow(answer, Path(chosen.arrow))
    if chosen.plot is not None:
        answer.plot(chosen.plot)
    if chosen.chart:
        (terminal.tell if chosen.json or chosen.csv else terminal.show)("\n".join(["", *answer_bars(answer)]))


def _write_arrow(answer: Answer, path: Path) -> None:
    table = answer.to_arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
