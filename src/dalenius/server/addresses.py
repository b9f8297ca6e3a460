"""Addresses: which of them are this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(header: str) -> str:
    """The host that the header Host names, without its port; empty where it names none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
