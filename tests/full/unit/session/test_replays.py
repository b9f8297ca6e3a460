"""The dear tests of `unit/session/test_replays.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clinics
from tests.unit.session.test_replays import BY_CITY

NAMES = """
import sys
sys.path.insert(0, sys.argv[1])
from asked_price import priced
from clinics import clinic, visits
from dalenius.session.offers import Offer
from dalenius.session.executor import QueryPurchase, request_name
with clinic(data=visits(patients=2)) as db:
    for text in sys.argv[2:]:
        found = priced(db.sql(text), Offer(epsilon="0.2", weights={"n": 2}))
        print(request_name(QueryPurchase(found, "", True, 3)))
"""


QUESTIONS = [
    BY_CITY,
    "SELECT icd, COUNT(*) AS n FROM visits WHERE city IN ('Oslo', 'Bergen') GROUP BY icd ORDER BY n DESC LIMIT 3",
    "SELECT icd, COUNT(DISTINCT patient_id) AS n, MEDIAN(cost) AS m FROM visits GROUP BY icd",
]


def names_under(seed: str) -> str:
    command = [sys.executable, "-c", NAMES, str(Path(clinics.__file__).parent), *QUESTIONS]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_request_has_the_same_name_in_every_process_whatever_the_hash_seed() -> None:
    with ThreadPoolExecutor(2) as threads:
        (names,) = set(threads.map(names_under, ("1", "2")))
    assert len(set(names.split())) == len(QUESTIONS)
