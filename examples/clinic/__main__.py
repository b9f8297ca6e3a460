"""Asks all questions, one after the other, out of one budget."""

from __future__ import annotations

from examples.clinic.catalog import clinic
from examples.clinic.questions import QUESTIONS


def main() -> None:
    db = clinic()
    for number, question in enumerate(QUESTIONS, start=1):
        print(f"{number}. {question.words}\n   {question.sql}\n")
        print(db.sql(question.sql).run(share="4%"), "\n")


if __name__ == "__main__":
    main()
