"""Dalenius: a private database. It answers questions about everyone and about no one.

The names below load on first use. The rooms are `privacy` (neighbours, sensitivities, losses, divergences),
`randomness` (exact noise), `accounting` (composition, budgets), `mechanisms`, `query` (questions and their prices),
`engines` (where they run), `curator` (catalog, ledger, sessions), `release` (query release and synthetic tables),
`learn` (statistics and models), `verify`, `audit` and `attacks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius import accounting as accounting
    from dalenius import attacks as attacks
    from dalenius import curator as curator
    from dalenius import engines as engines
    from dalenius import errors as errors
    from dalenius import learn as learn
    from dalenius import mechanisms as mechanisms
    from dalenius import privacy as privacy
    from dalenius import query as query
    from dalenius import randomness as randomness
    from dalenius import release as release
    from dalenius import verify as verify
    from dalenius.accounting.allowance import Allowance as Allowance
    from dalenius.accounting.budget import Budget as Budget
    from dalenius.accounting.filters import Filter as Filter
    from dalenius.audit.reporting import AuditReport as AuditReport
    from dalenius.audit.reporting import audit as audit
    from dalenius.curator.answers.answers import Answer as Answer
    from dalenius.curator.databases import Database as Database
    from dalenius.curator.databases import create as create
    from dalenius.curator.databases import open as open  # noqa: A004
    from dalenius.curator.ledger.accounts import Rate as Rate
    from dalenius.curator.sessions import Analyst as Analyst
    from dalenius.errors import DaleniusError as DaleniusError
    from dalenius.mechanisms.door import measure as measure
    from dalenius.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from dalenius.mechanisms.gaussian import DiscreteGaussian as DiscreteGaussian
    from dalenius.mechanisms.histogram import Histogram as Histogram
    from dalenius.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from dalenius.mechanisms.noisy_max import NoisyMax as NoisyMax
    from dalenius.mechanisms.numeric_sparse import NumericSparse as NumericSparse
    from dalenius.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from dalenius.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dalenius.mechanisms.sparse_vector import AboveThreshold as AboveThreshold
    from dalenius.mechanisms.sparse_vector import Sparse as Sparse
    from dalenius.mechanisms.top_k import OneShotTopK as OneShotTopK
    from dalenius.mechanisms.top_k import TopK as TopK
    from dalenius.privacy.exact import Exact as Exact
    from dalenius.privacy.neighbours import AddRemove as AddRemove
    from dalenius.privacy.neighbours import Replace as Replace
    from dalenius.privacy.sensitivity import Sensitivity as Sensitivity
    from dalenius.query.frames.aggregates import correlation as correlation
    from dalenius.query.frames.aggregates import count as count
    from dalenius.query.frames.aggregates import count_distinct as count_distinct
    from dalenius.query.frames.aggregates import covariance as covariance
    from dalenius.query.frames.aggregates import histogram as histogram
    from dalenius.query.frames.aggregates import maximum as maximum
    from dalenius.query.frames.aggregates import mean as mean
    from dalenius.query.frames.aggregates import median as median
    from dalenius.query.frames.aggregates import minimum as minimum
    from dalenius.query.frames.aggregates import mode as mode
    from dalenius.query.frames.aggregates import proposed_median as proposed_median
    from dalenius.query.frames.aggregates import proposed_quantile as proposed_quantile
    from dalenius.query.frames.aggregates import quantile as quantile
    from dalenius.query.frames.aggregates import robust_median as robust_median
    from dalenius.query.frames.aggregates import robust_quantile as robust_quantile
    from dalenius.query.frames.aggregates import robust_scale as robust_scale
    from dalenius.query.frames.aggregates import robust_trimmed_mean as robust_trimmed_mean
    from dalenius.query.frames.aggregates import stable_median as stable_median
    from dalenius.query.frames.aggregates import stable_mode as stable_mode
    from dalenius.query.frames.aggregates import stable_quantile as stable_quantile
    from dalenius.query.frames.aggregates import stddev as stddev
    from dalenius.query.frames.aggregates import total as total
    from dalenius.query.frames.aggregates import variance as variance
    from dalenius.query.frames.formulas import col as col
    from dalenius.query.frames.formulas import lit as lit
    from dalenius.query.frames.formulas import when as when
    from dalenius.query.tables import EachRow as EachRow
    from dalenius.query.tables import Most as Most
    from dalenius.query.tables import Via as Via
    from dalenius.query.types import Bool as Bool
    from dalenius.query.types import Category as Category
    from dalenius.query.types import Date as Date
    from dalenius.query.types import Int as Int
    from dalenius.query.types import Real as Real
    from dalenius.query.types import Text as Text
    from dalenius.query.types import Timestamp as Timestamp
    from dalenius.randomness.entropy import system_entropy as system_entropy
    from dalenius.release.synthetic.families import FamilySynthesizer as FamilySynthesizer
    from dalenius.release.synthetic.synthesizer import Synthesizer as Synthesizer
    from dalenius.server.client.connecting import connect as connect

__version__ = "0.1.0"

__getattr__, __dir__ = names(
    __name__,
    {
        "AboveThreshold": "mechanisms.sparse_vector",
        "AddRemove": "privacy.neighbours",
        "Allowance": "accounting.allowance",
        "Analyst": "curator.sessions",
        "Answer": "curator.answers.answers",
        "AuditReport": "audit.reporting",
        "Bool": "query.types",
        "Budget": "accounting.budget",
        "Category": "query.types",
        "DaleniusError": "errors",
        "Database": "curator.databases",
        "Date": "query.types",
        "DiscreteGaussian": "mechanisms.gaussian",
        "DiscreteLaplace": "mechanisms.laplace",
        "EachRow": "query.tables",
        "Exact": "privacy.exact",
        "ExponentialMechanism": "mechanisms.exponential",
        "FamilySynthesizer": "release.synthetic.families",
        "Filter": "accounting.filters",
        "Histogram": "mechanisms.histogram",
        "Int": "query.types",
        "Most": "query.tables",
        "NoisyMax": "mechanisms.noisy_max",
        "NumericSparse": "mechanisms.numeric_sparse",
        "OneShotTopK": "mechanisms.top_k",
        "PermuteAndFlip": "mechanisms.permute_and_flip",
        "RandomizedResponse": "mechanisms.randomized_response",
        "Rate": "curator.ledger.accounts",
        "Real": "query.types",
        "Replace": "privacy.neighbours",
        "Sensitivity": "privacy.sensitivity",
        "Sparse": "mechanisms.sparse_vector",
        "Synthesizer": "release.synthetic.synthesizer",
        "Text": "query.types",
        "Timestamp": "query.types",
        "TopK": "mechanisms.top_k",
        "Via": "query.tables",
        "accounting": "accounting",
        "attacks": "attacks",
        "audit": "audit",
        "col": "query.frames.formulas",
        "connect": "server.client.connecting",
        "correlation": "query.frames.aggregates",
        "count": "query.frames.aggregates",
        "count_distinct": "query.frames.aggregates",
        "covariance": "query.frames.aggregates",
        "create": "curator.databases",
        "curator": "curator",
        "engines": "engines",
        "errors": "errors",
        "histogram": "query.frames.aggregates",
        "learn": "learn",
        "lit": "query.frames.formulas",
        "maximum": "query.frames.aggregates",
        "mean": "query.frames.aggregates",
        "measure": "mechanisms.door",
        "mechanisms": "mechanisms",
        "median": "query.frames.aggregates",
        "minimum": "query.frames.aggregates",
        "mode": "query.frames.aggregates",
        "open": "curator.databases",
        "privacy": "privacy",
        "proposed_median": "query.frames.aggregates",
        "proposed_quantile": "query.frames.aggregates",
        "quantile": "query.frames.aggregates",
        "query": "query",
        "randomness": "randomness",
        "release": "release",
        "robust_median": "query.frames.aggregates",
        "robust_quantile": "query.frames.aggregates",
        "robust_scale": "query.frames.aggregates",
        "robust_trimmed_mean": "query.frames.aggregates",
        "stable_median": "query.frames.aggregates",
        "stable_mode": "query.frames.aggregates",
        "stable_quantile": "query.frames.aggregates",
        "stddev": "query.frames.aggregates",
        "system_entropy": "randomness.entropy",
        "total": "query.frames.aggregates",
        "variance": "query.frames.aggregates",
        "verify": "verify",
        "when": "query.frames.formulas",
    },
)
