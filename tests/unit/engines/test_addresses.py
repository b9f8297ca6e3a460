"""Addresses of places: what is a secret is taken out, what might be one is refused, and nothing of it is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalenius.engines.addresses import public_address, staying, with_secret
from dalenius.errors import InvalidParameter

SECRET = "hush%23moth"


@pytest.mark.parametrize(
    ("source", "address", "table", "secret"),
    [
        (("postgresql://reader@h:5432/clinic", "a.b"), "postgresql://reader@h:5432/clinic", "a.b", None),
        ("postgresql://reader@h:5432/clinic#a.b", "postgresql://reader@h:5432/clinic", "a.b", None),
        (f"postgres://reader:{SECRET}@h/clinic#b", "postgresql://reader@h/clinic", "b", "hush#moth"),
        (f"postgresql://h/c?password={SECRET}&user=u#b", "postgresql://h/c?user=u", "b", "hush#moth"),
        ("postgresql:///c?host=/run/postgresql#b", "postgresql:///c?host=/run/postgresql", "b", None),
        ("postgresql://[::1]:5432,other:5433/c#b", "postgresql://[::1]:5432,other:5433/c", "b", None),
        (("spark", "warehouse.events"), "spark", "warehouse.events", None),
        ("local[2]#/data/events", "local[2]", "/data/events", None),
        (("local[*]", Path("events")), "local[*]", "events", None),
        (("spark://a:7077,b:7077", "s3a://bucket/events"), "spark://a:7077,b:7077", "s3a://bucket/events", None),
        (("spark", "abfss://box@account/events"), "spark", "abfss://box@account/events", None),
        (f"sc://h:15002/;use_ssl=true;token={SECRET}#t", "sc://h:15002/;use_ssl=true", "t", "hush#moth"),
    ],
)  # fmt: skip
def test_a_place_is_told_from_its_secret(source: object, address: str, table: str, secret: str | None) -> None:
    found = staying(source)
    assert found is not None
    assert (found.address, found.table, found.secret) == (address, table, secret)
    assert "hush" not in repr(found)


@pytest.mark.parametrize(
    "source", ["visits.parquet", "a#b.csv", ("f.duckdb", "t"), Path("spark"), None, ["a", "b", "c"]]
)
def test_files_and_tables_in_memory_are_no_places(source: object) -> None:
    assert staying(source) is None


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://reader:hush#moth@h/clinic#visits",
        "postgresql://reader:hush@moth@h/clinic#visits",
        "postgresql://reader:hush/moth@h/clinic#visits",
        "postgresql://reader:hush?moth@h/clinic#visits",
        "postgresql://reader:hush\\moth@h/clinic#visits",
        "postgresql://reader:hush moth@h/clinic#visits",
        "postgresql://reader:hush",
        "postgresql://h/clinic?sslpassword=hush#visits",
        "postgresql://h/clinic?options=-chush#visits",
        "postgresql://u:hush@h/clinic?password=moth#visits",
        "sc://h/;x-auth=hush#visits",
        "sc://hush@h#visits",
        "spark://reader:hush@h:7077#visits",
        ("spark", "s3a://key:hush@bucket/events"),
        ("spark", "abfss://box:hush@account/events"),
        ("spark", "https://bucket/events?sig=hush"),
        ("postgresql://h/clinic#hush", "visits"),
        ("postgresql://h/clinic", "visits\nhush"),
    ],
)
def test_what_may_hide_a_secret_is_refused_and_not_repeated(source: object) -> None:
    with pytest.raises(InvalidParameter) as refused:
        staying(source)
    assert "hush" not in str(refused.value)
    assert "moth" not in str(refused.value)


def test_a_relative_path_is_written_in_full() -> None:
    found = staying(("local[2]", "data/events"))
    assert found is not None
    assert found.table == str(Path("data/events").absolute())


def test_a_token_returns_to_its_address() -> None:
    for text in ("sc://h:15002", "sc://h:15002/;use_ssl=true"):
        address, secret = public_address(f"{text}{';' if '/;' in text else '/;'}token=a%3Bb")
        assert (address, secret) == (text, "a;b")
        assert public_address(with_secret(address, secret)) == (address, secret)
