"""Options of the commands that serve, show and complete."""

from __future__ import annotations

from dalenius.cli.options.shared import Commands, command, folder

SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands) -> None:
    """serve, demo and completion."""
    made = command(commands, "serve", "serve", help="answer over HTTP")
    folder(made)
    made.add_argument("--host", metavar="HOST", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    made.add_argument("--port", metavar="PORT", type=int, default=8765, help="(default: 8765)")
    made.add_argument("--admin", action="store_true", help="offer the admin routes also beyond this machine")
    made.add_argument("--no-admin", action="store_true", help="do not offer them on this machine either")
    made.add_argument(
        "--workers", metavar="N", type=int, help="worker processes for questions, 2 or more (default: one a core)"
    )
    made.add_argument("--certificate", metavar="FILE", help="for TLS; without it, only this machine is listened to")
    made.add_argument("--key", metavar="FILE", help="the key of the certificate")
    made.add_argument("--insecure", action="store_true", help="listen without TLS: something else keeps the way safe")
    made.add_argument(
        "--step", metavar="S", type=float, default=0.05, help="replies leave in such steps (default: 0.05 s)"
    )
    made.add_argument(
        "--headroom", metavar="X", type=float, default=1.5,
        help="an answer is due after X times what its plan should take (default: 1.5; more on a slower machine)",
    )  # fmt: skip
    made.add_argument("--seconds", metavar="S", type=float, default=60, help="an answer may take so long (default: 60)")
    made.add_argument("--log", metavar="FILE", help="append the log to a file (default: standard error)")
    made = command(
        commands, "demo", "demo", help="the whole loop on a real health survey: declare, ask, be refused, look it up"
    )
    made.add_argument("--keep", metavar="FOLDER", help="make the database in this new folder, and keep it")
    made = command(
        commands, "completion", "completion", help="print what makes a shell complete commands and options",
        more="""bash   eval "$(dalenius completion bash)", in ~/.bashrc
zsh    eval "$(dalenius completion zsh)", in ~/.zshrc
fish   dalenius completion fish | source, in ~/.config/fish/config.fish""",
    )  # fmt: skip
    made.add_argument("shell", choices=SHELLS, help="your shell")
