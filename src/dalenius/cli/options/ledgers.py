"""Options of the commands that show what was spent."""

from __future__ import annotations

from dalenius.cli.options.shared import Commands, as_json, asker, command, folder

ACTIONS = ("show", "verify", "reconcile", "entries")


class Suggested(tuple[str, ...]):
    """Words that completion offers where others may stand as well: `ledger verify FOLDER` is understood too."""

    def __contains__(self, word: object) -> bool:
        return True


def add(commands: Commands) -> None:
    """ledger, registry, replays, card and study-card."""
    made = command(
        commands, "ledger", "ledger", help="show who spent what; verify, or reconcile after a restore",
        more="""show       who spent what of which budget (the default)
verify     recompute the chain and every balance independently; exit code 5 if something is wrong
reconcile  after a restore, a clone or a lost mark: go on at the largest spending that is known
entries    every entry""",
    )  # fmt: skip
    folder(made)
    made.add_argument(
        "action",
        metavar="ACTION",
        choices=Suggested(ACTIONS),
        nargs="?",
        default="show",
        help=f"{', '.join(ACTIONS)} (default: show); it may also stand before the folder",
    )
    made.add_argument(
        "--yes", action="store_true", help="reconcile without asking first; needed where nobody can be asked"
    )
    as_json(made)
    _registry(commands)


def _registry(commands: Commands) -> None:
    made = command(
        commands, "registry", "registry", help="show what each population is used for and how much of it is spent",
        more="It depends on nothing private, and can be published.",
    )  # fmt: skip
    asker(made)
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write JSON")
    form.add_argument("--csv", action="store_true", help="write CSV")
    form.add_argument("--html", metavar="FILE", help="write a page")
    made = command(commands, "replays", "replays", help="list the answers that can be had again for free, or show one")
    asker(made)
    made.add_argument("receipt", metavar="RECEIPT", nargs="?", help="the receipt of the answer to show")
    as_json(made)
    made = command(commands, "card", "card", help="show the release card of an answer: what is and is not promised")
    asker(made)
    made.add_argument("receipt", metavar="RECEIPT", help="the receipt of the answer")
    as_json(made)
    made = command(
        commands, "study-card", "study_card", help="show all releases that were charged to a study, with totals"
    )
    folder(made)
    made.add_argument("study", metavar="NAME", help="the study")
    as_json(made)
