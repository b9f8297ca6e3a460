"""What is shown survives old terminals; people are asked, pipes are not."""

from __future__ import annotations

import io
import json
from unittest.mock import patch

from command_line import Typed
from dalenius.cli.terminal import Terminal


def test_letters_that_a_terminal_lacks_are_written_with_those_that_it_has() -> None:
    raw = io.BytesIO()
    terminal = Terminal(io.StringIO(), io.TextIOWrapper(raw, encoding="ascii"), io.StringIO())
    terminal.show("people ± 20 ─ ██▒ → Tromsø …")
    terminal.flush()
    assert raw.getvalue() == b"people +/- 20 - ##: -> Troms? ...\n"


def test_json_keeps_the_order_and_every_letter() -> None:
    out = io.StringIO()
    Terminal(io.StringIO(), out, io.StringIO()).show_json({"b": "Tromsø", "a": 1})
    assert out.getvalue() == '{\n  "b": "Tromsø",\n  "a": 1\n}\n'


COMMANDS = "\x1b[31m\x9b2J\x07\r\u202e\u2066\u200b\u2028\ufeff"


def test_a_terminal_is_shown_nothing_that_it_would_obey_or_hide() -> None:
    out, told = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, told)
    terminal.show(f"a\tb\n{COMMANDS}ø")
    terminal.tell(COMMANDS)
    terminal.agreed(COMMANDS)
    assert out.getvalue() == "a\tb\n�[31m�2J�������ø\n"
    assert not set(told.getvalue()) & set(COMMANDS) - set("[31m2J")


def test_json_shows_it_as_escapes_and_means_the_same() -> None:
    out = io.StringIO()
    Terminal(io.StringIO(), out, io.StringIO()).show_json({COMMANDS: [COMMANDS, "\U000e0041ø"]})
    assert out.getvalue().replace("\n", "").isprintable()
    assert json.loads(out.getvalue()) == {COMMANDS: [COMMANDS, "\U000e0041ø"]}


def test_only_a_person_is_asked_and_only_yes_is_a_yes() -> None:
    assert not Terminal(io.StringIO("y\n"), io.StringIO(), io.StringIO()).talks
    assert not Terminal(Typed("y\n"), io.StringIO(), Typed()).talks
    assert Terminal(Typed("y\n"), Typed(), Typed()).talks
    said = {
        text: Terminal(Typed(text), Typed(), Typed()).agreed("Go on?") for text in ("y\n", "YES\n", "\n", "n\n", "")
    }
    assert said == {"y\n": True, "YES\n": True, "\n": False, "n\n": False, "": False}


def test_what_cannot_be_undone_is_done_after_a_yes_alone() -> None:
    for typed, yes, expected in (("y\n", False, True), ("n\n", False, False), ("", True, True)):
        assert Terminal(Typed(typed), Typed(), Typed()).confirmed("Go on?", yes=yes) is expected
    for given in (io.StringIO("y\n"), io.StringIO()):
        told = io.StringIO()
        assert not Terminal(given, Typed(), told).confirmed("Go on?", yes=False)
        assert "Say --yes" in told.getvalue()


def test_a_closed_input_is_nobody_who_can_be_asked() -> None:
    with patch("sys.stdin", None):
        assert not Terminal(shown=Typed(), told=Typed()).confirmed("Go on?", yes=False)
        assert Terminal(shown=Typed(), told=Typed()).confirmed("Go on?", yes=True)


def test_progress_is_for_people_who_watch() -> None:
    watched, piped = Typed(), io.StringIO()
    with Terminal(io.StringIO(), io.StringIO(), watched).progress("working") as tell:
        assert tell is not None
        tell("3 s")
    assert "working ... 3 s" in watched.getvalue()
    assert watched.getvalue().endswith("\r\x1b[K")
    with Terminal(io.StringIO(), io.StringIO(), piped).progress("working") as tell:
        assert tell is None
    assert piped.getvalue() == ""
