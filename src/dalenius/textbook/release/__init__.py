"""The textbook's algorithms for query release, each with its accuracy theorem."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.textbook.release.boosting import BoostedSynopses as BoostedSynopses
    from dalenius.textbook.release.boosting import QueryBoosting as QueryBoosting
    from dalenius.textbook.release.boosting import attenuated as attenuated
    from dalenius.textbook.release.boosting import decay as decay
    from dalenius.textbook.release.boosting import draw_epsilon as draw_epsilon
    from dalenius.textbook.release.boosting import rounds_needed as rounds_needed
    from dalenius.textbook.release.boosting import step_size as step_size
    from dalenius.textbook.release.boosting import textbook_rounds as textbook_rounds
    from dalenius.textbook.release.boosting import unattenuated_loss as unattenuated_loss
    from dalenius.textbook.release.boosting import unattenuated_ratio as unattenuated_ratio
    from dalenius.textbook.release.game import QueryReleaseGame as QueryReleaseGame
    from dalenius.textbook.release.game import game_accuracy as game_accuracy
    from dalenius.textbook.release.game import synthetic_from as synthetic_from
    from dalenius.textbook.release.generators import BaseGenerator as BaseGenerator
    from dalenius.textbook.release.generators import BruteForceGenerator as BruteForceGenerator
    from dalenius.textbook.release.generators import LinearGenerator as LinearGenerator
    from dalenius.textbook.release.generators import base_scale as base_scale
    from dalenius.textbook.release.generators import brute_force_draws as brute_force_draws
    from dalenius.textbook.release.generators import database_bits as database_bits
    from dalenius.textbook.release.generators import linear_draws as linear_draws
    from dalenius.textbook.release.generators import sample_factor as sample_factor
    from dalenius.textbook.release.generators import sampled_rows as sampled_rows
    from dalenius.textbook.release.generators import samples_needed as samples_needed
    from dalenius.textbook.release.generators import textbook_tolerance as textbook_tolerance
    from dalenius.textbook.release.iterative_construction import IterativeConstruction as IterativeConstruction
    from dalenius.textbook.release.iterative_construction import distinguisher_accuracy as distinguisher_accuracy
    from dalenius.textbook.release.iterative_construction import iterative_accuracy as iterative_accuracy
    from dalenius.textbook.release.iterative_construction import (
        online_construction_accuracy as online_construction_accuracy,
    )
    from dalenius.textbook.release.median import Halving as Halving
    from dalenius.textbook.release.median import Median as Median
    from dalenius.textbook.release.median import median_accuracy as median_accuracy
    from dalenius.textbook.release.median import median_updates as median_updates
    from dalenius.textbook.release.median import trivial_net as trivial_net
    from dalenius.textbook.release.nets import Net as Net
    from dalenius.textbook.release.nets import NetMechanism as NetMechanism
    from dalenius.textbook.release.nets import databases_of_size as databases_of_size
    from dalenius.textbook.release.nets import iterative_net_size as iterative_net_size
    from dalenius.textbook.release.nets import net_accuracy as net_accuracy
    from dalenius.textbook.release.per_query import LaplaceEach as LaplaceEach
    from dalenius.textbook.release.per_query import PerQuery as PerQuery
    from dalenius.textbook.release.perceptron import PerceptronUpdate as PerceptronUpdate
    from dalenius.textbook.release.perceptron import perceptron_accuracy as perceptron_accuracy
    from dalenius.textbook.release.perceptron import perceptron_updates as perceptron_updates
    from dalenius.textbook.release.projection import Projected as Projected
    from dalenius.textbook.release.projection import ProjectedLaplace as ProjectedLaplace
    from dalenius.textbook.release.projection import projected as projected
    from dalenius.textbook.release.projection import projected_accuracy as projected_accuracy
    from dalenius.textbook.release.repeats import Recalled as Recalled
    from dalenius.textbook.release.repeats import Repeats as Repeats
    from dalenius.textbook.release.small_databases import balanced_accuracy as balanced_accuracy
    from dalenius.textbook.release.small_databases import least_sample_size as least_sample_size
    from dalenius.textbook.release.small_databases import most_distinct_queries as most_distinct_queries
    from dalenius.textbook.release.small_databases import people_for as people_for
    from dalenius.textbook.release.small_databases import sample_size as sample_size
    from dalenius.textbook.release.small_databases import sampling_failure as sampling_failure
    from dalenius.textbook.release.small_databases import small_database as small_database
    from dalenius.textbook.release.small_databases import small_database_accuracy as small_database_accuracy
    from dalenius.textbook.release.small_databases import vc_sample_size as vc_sample_size
    from dalenius.textbook.release.syntheticizer import Synthetic as Synthetic
    from dalenius.textbook.release.syntheticizer import release_synthetic as release_synthetic
    from dalenius.textbook.release.syntheticizer import syntheticized as syntheticized

_HOMES = {
    "BaseGenerator": "generators",
    "BoostedSynopses": "boosting",
    "BruteForceGenerator": "generators",
    "Halving": "median",
    "IterativeConstruction": "iterative_construction",
    "LaplaceEach": "per_query",
    "LinearGenerator": "generators",
    "Median": "median",
    "Net": "nets",
    "NetMechanism": "nets",
    "PerQuery": "per_query",
    "PerceptronUpdate": "perceptron",
    "Projected": "projection",
    "ProjectedLaplace": "projection",
    "QueryBoosting": "boosting",
    "QueryReleaseGame": "game",
    "Recalled": "repeats",
    "Repeats": "repeats",
    "Synthetic": "syntheticizer",
    "attenuated": "boosting",
    "balanced_accuracy": "small_databases",
    "base_scale": "generators",
    "brute_force_draws": "generators",
    "database_bits": "generators",
    "databases_of_size": "nets",
    "decay": "boosting",
    "distinguisher_accuracy": "iterative_construction",
    "draw_epsilon": "boosting",
    "game_accuracy": "game",
    "iterative_accuracy": "iterative_construction",
    "iterative_net_size": "nets",
    "least_sample_size": "small_databases",
    "linear_draws": "generators",
    "median_accuracy": "median",
    "median_updates": "median",
    "most_distinct_queries": "small_databases",
    "net_accuracy": "nets",
    "online_construction_accuracy": "iterative_construction",
    "people_for": "small_databases",
    "perceptron_accuracy": "perceptron",
    "perceptron_updates": "perceptron",
    "projected": "projection",
    "projected_accuracy": "projection",
    "release_synthetic": "syntheticizer",
    "rounds_needed": "boosting",
    "sample_factor": "generators",
    "sample_size": "small_databases",
    "sampled_rows": "generators",
    "samples_needed": "generators",
    "sampling_failure": "small_databases",
    "small_database": "small_databases",
    "small_database_accuracy": "small_databases",
    "step_size": "boosting",
    "synthetic_from": "game",
    "syntheticized": "syntheticizer",
    "textbook_rounds": "boosting",
    "textbook_tolerance": "generators",
    "trivial_net": "median",
    "unattenuated_loss": "boosting",
    "unattenuated_ratio": "boosting",
    "vc_sample_size": "small_databases",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
