"""Options of the commands that say who may ask what."""

from __future__ import annotations

from dalenius.cli.options.shared import Commands, as_json, command, folder


def add(commands: Commands) -> None:
    """grant, revoke, grants, study and token."""
    _grant(commands)
    made = command(commands, "revoke", "revoke", help="take back what an analyst was granted, and the tokens")
    folder(made)
    made.add_argument("analyst", metavar="ANALYST", help="the analyst's name")
    made.add_argument("--tokens-only", action="store_true", help="end the tokens, and leave the grant as it is")
    as_json(made)
    made = command(commands, "grants", "grants", help="list who may ask what, and who holds a token until when")
    folder(made)
    as_json(made)
    _study(commands)
    _token(commands)


def _grant(commands: Commands) -> None:
    made = command(commands, "grant", "grant", help="let an analyst ask about tables, within a share of the budget")
    folder(made)
    made.add_argument("analyst", metavar="ANALYST", help="a name or mail address")
    made.add_argument("--tables", metavar="NAME", nargs="+", action="extend", required=True, help="the tables")
    made.add_argument(
        "--share",
        metavar="S",
        help="the most of the budget, inside the study if there is one (default: as before, at first 100%%)",
    )
    made.add_argument("--study", metavar="NAME", help="the study inside which the analyst asks")
    made.add_argument("--most-epsilon", metavar="E", help="the most that one question may cost")
    made.add_argument(
        "--rate", metavar="N/SECONDS", help="how often questions may be charged, such as 20/3600 (default: 1000/3600)"
    )
    made.add_argument("--until", metavar="DAY", help="the day on which the grant ends")
    made.add_argument(
        "--pays-for-replays", action="store_const", const=True, help="answers that are known count against the share"
    )
    as_json(made)


def _study(commands: Commands) -> None:
    made = command(
        commands, "study", "study", help="open a quota that several analysts share, or change its terms",
        more="Of a study that is there, terms that are not mentioned stay as they were; none takes one back.",
    )  # fmt: skip
    folder(made)
    made.add_argument("study", metavar="NAME", help="a name for the study")
    made.add_argument("--population", metavar="NAME", required=True, help="the people that it is about")
    made.add_argument("--share", metavar="S", required=True, help="the most of the budget that it may spend")
    made.add_argument("--reserve", metavar="S", help="the share that is held for it until its end; none frees it")
    made.add_argument("--start", metavar="DAY", help="its first day")
    made.add_argument("--end", metavar="DAY", help="the day on which it ends")
    made.add_argument("--purpose", metavar="TEXT", help="what it is for; it is published")
    as_json(made)


def _token(commands: Commands) -> None:
    made = command(
        commands, "token", "token", help="issue a token for the server; it is shown once and stored hashed",
        more="With --out it goes into a new file that only you can read; else it is the only thing on standard output.",
    )  # fmt: skip
    folder(made)
    made.add_argument("who", metavar="WHO", help="the analyst's name, or a name for an auditor or owner")
    made.add_argument("--role", choices=("analyst", "auditor", "owner"), default="analyst", help="(default: analyst)")
    made.add_argument("--out", metavar="FILE", help="write the token into a new file of mode 0600 instead")
    made.add_argument("--days", metavar="N", type=int, default=90, help="how long it holds (default: 90 days)")
    as_json(made)
