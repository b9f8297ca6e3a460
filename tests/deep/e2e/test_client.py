"""The dear tests of `e2e/test_client.py`."""

from __future__ import annotations

from http_server import Server
from tests.e2e import test_client
from tests.e2e.test_client import lose

server = test_client.server
token = test_client.token


def test_200_lost_replies_are_charged_once_each(server: Server, token: str) -> None:
    assert lose(server, token, 200) == (200, 200, 400)
