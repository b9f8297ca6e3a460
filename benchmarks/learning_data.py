"""The tables that models are learnt from: Adult and the American Community Survey, with bounds and values that are
public, and a million amounts that are made up. The real ones lie beside the project, in ../shared/data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

DATA = Path(__file__).parents[2] / "shared" / "data"
Arrays = dict[str, NDArray[Any]]

ADULT_NUMBERS = {
    "age": (0, 100),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 100),
}
ADULT_CHOICES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"
)  # fmt: skip
POINTS = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
ACS_NUMBERS = {"AGEP": (0, 100), "EDU": (1, 12), "SEX": (1, 2), "DREM": (1, 2), "DPHY": (1, 2)}
ACS_CHOICES = ("MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT")
GROWN_UP = 18
INCOME = (0, 200_000)
"""To these, incomes are clipped for the regression."""
EXACT_INCOME = (-20_000, 1_500_000)
"""The bounds of incomes as they are, in whole dollars."""
AMOUNTS = (0, 10**6)
HELD_OUT = 5
"""One in so many rows of the survey is for tests."""


def adult() -> Arrays:
    """The official split, in 108 columns from 0 to 1; the eight choices are texts and a column for each of their
    values."""
    found = csv.read_csv(DATA / "adult" / "adult_raw.csv.gz")
    numbers = _numbers(found, ADULT_NUMBERS)
    codes = [_codes(found, name) for name in ADULT_CHOICES]
    wide, starts = _wide(numbers, codes)
    target, train = _texts(found, "income") == ">50K", _texts(found, "split") == "train"
    parts = {"adult": wide, "adult_target": target.astype(np.int64), "adult_numbers": numbers}
    parts["adult_choices"] = np.stack(codes, axis=1)
    norm = np.sqrt(len(ADULT_NUMBERS) + len(ADULT_CHOICES))
    return {
        **{name: values[train] for name, values in parts.items()},
        **{f"{name}_test": values[~train] for name, values in parts.items()},
        "adult_starts": np.array(starts),
        "adult_norm": np.array(norm),
        "points": _numbers(found, POINTS),
    }


def acs() -> Arrays:
    """Adults of the survey, in 46 columns from 0 to 1, and their incomes."""
    texts = csv.ConvertOptions(
        column_types=dict.fromkeys([*ACS_NUMBERS, *ACS_CHOICES, "PINCP"], "string"), strings_can_be_null=False
    )
    found = csv.read_csv(DATA / "acs_nist" / "national2019.csv.gz", convert_options=texts)
    found = found.filter(pa.array(_texts(found, "AGEP").astype(np.int64) >= GROWN_UP))
    wide, _ = _wide(_numbers(found, ACS_NUMBERS), [_codes(found, name) for name in ACS_CHOICES])
    exact = _texts(found, "PINCP").astype(np.float64)
    held, income = np.arange(len(wide)) % HELD_OUT == 0, np.clip(exact, *INCOME)
    return {
        "acs": wide[~held],
        "acs_target": income[~held],
        "acs_test": wide[held],
        "acs_target_test": income[held],
        "acs_norm": np.sqrt(len(ACS_NUMBERS) + len(ACS_CHOICES)),
        "income_bounds": np.array(INCOME),
        "exact_income": exact,
        "exact_bounds": np.array(EXACT_INCOME),
    }


def amounts() -> Arrays:
    """Eight sets of a million amounts in cents, most of them small: their logarithm is normal."""
    drawn = np.random.default_rng(2026).lognormal(10, 1, (8, 10**6))
    return {"amounts": np.clip(np.round(drawn, 2), *AMOUNTS), "amount_bounds": np.array(AMOUNTS)}


def _texts(found: pa.Table, name: str) -> NDArray[Any]:
    return np.asarray(found[name].to_pylist()).astype(str)


def _numbers(found: pa.Table, bounds: Mapping[str, tuple[float, float]]) -> NDArray[np.float64]:
    """Columns from 0, the lower bound, to 1, the upper."""
    columns = [
        (np.clip(_texts(found, name).astype(np.float64), low, high) - low) / (high - low)
        for name, (low, high) in bounds.items()
    ]
    return np.stack(columns, axis=1)


def _codes(found: pa.Table, name: str) -> NDArray[np.int64]:
    """The place of each value among those that the column's description lists, all of which occur."""
    return np.asarray(np.unique(_texts(found, name), return_inverse=True)[1], dtype=np.int64)


def _wide(numbers: NDArray[np.float64], codes: list[NDArray[np.int64]]) -> tuple[NDArray[np.float64], list[int]]:
    """Numbers and then an indicator for every value of a choice; and where the indicators of each choice begin."""
    indicators = [np.eye(int(code.max()) + 1)[code] for code in codes]
    sizes = [numbers.shape[1], *(part.shape[1] for part in indicators)]
    return np.hstack([numbers, *indicators]), np.cumsum(sizes)[:-1].tolist()
