"""Learning theory that can be run: each theorem is a function, next to the algorithm that it is about."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.textbook.learning.adaptive import AccuracyCurve as AccuracyCurve
    from dalenius.textbook.learning.adaptive import AdaptiveAnalysis as AdaptiveAnalysis
    from dalenius.textbook.learning.adaptive import Overfitting as Overfitting
    from dalenius.textbook.learning.adaptive import expected_gap as expected_gap
    from dalenius.textbook.learning.by_rounds import ByRounds as ByRounds
    from dalenius.textbook.learning.by_rounds import LinearLearner as LinearLearner
    from dalenius.textbook.learning.by_rounds import excess_by_rounds as excess_by_rounds
    from dalenius.textbook.learning.by_rounds import linear_excess as linear_excess
    from dalenius.textbook.learning.by_rounds import regret_by_rounds as regret_by_rounds
    from dalenius.textbook.learning.experts import Hedge as Hedge
    from dalenius.textbook.learning.experts import LossTable as LossTable
    from dalenius.textbook.learning.experts import best_rate as best_rate
    from dalenius.textbook.learning.experts import likely_excess as likely_excess
    from dalenius.textbook.learning.experts import likely_private_regret_bound as likely_private_regret_bound
    from dalenius.textbook.learning.experts import private_rate as private_rate
    from dalenius.textbook.learning.experts import private_regret_bound as private_regret_bound
    from dalenius.textbook.learning.experts import regret as regret
    from dalenius.textbook.learning.experts import regret_bound as regret_bound
    from dalenius.textbook.learning.experts import sharp_regret_bound as sharp_regret_bound
    from dalenius.textbook.learning.finite_class import FiniteClass as FiniteClass
    from dalenius.textbook.learning.finite_class import agnostic_excess as agnostic_excess
    from dalenius.textbook.learning.finite_class import agnostic_sample_size as agnostic_sample_size
    from dalenius.textbook.learning.finite_class import mistakes_sensitivity as mistakes_sensitivity
    from dalenius.textbook.learning.finite_class import sampling_excess as sampling_excess
    from dalenius.textbook.learning.finite_class import training_excess as training_excess
    from dalenius.textbook.learning.mixture import Mixture as Mixture
    from dalenius.textbook.learning.mixture import MixtureLearner as MixtureLearner
    from dalenius.textbook.learning.perceptron import Perceptron as Perceptron
    from dalenius.textbook.learning.perceptron import perceptron_error as perceptron_error
    from dalenius.textbook.learning.perceptron import perceptron_rounds as perceptron_rounds
    from dalenius.textbook.learning.queries import Conjunction as Conjunction
    from dalenius.textbook.learning.queries import Oracle as Oracle
    from dalenius.textbook.learning.queries import StatisticalQuery as StatisticalQuery
    from dalenius.textbook.learning.queries import conjunction_error as conjunction_error
    from dalenius.textbook.learning.queries import query_noise as query_noise
    from dalenius.textbook.learning.queries import query_sample_size as query_sample_size
    from dalenius.textbook.learning.regression import Distance as Distance
    from dalenius.textbook.learning.regression import gradient_excess as gradient_excess
    from dalenius.textbook.learning.regression import objective_excess as objective_excess
    from dalenius.textbook.learning.regression import output_excess as output_excess
    from dalenius.textbook.learning.regression import squared_errors as squared_errors
    from dalenius.textbook.learning.regression import squared_sum_of_errors as squared_sum_of_errors

_HOMES = {
    "AccuracyCurve": "adaptive",
    "AdaptiveAnalysis": "adaptive",
    "ByRounds": "by_rounds",
    "Conjunction": "queries",
    "Distance": "regression",
    "FiniteClass": "finite_class",
    "Hedge": "experts",
    "LinearLearner": "by_rounds",
    "LossTable": "experts",
    "Mixture": "mixture",
    "MixtureLearner": "mixture",
    "Oracle": "queries",
    "Overfitting": "adaptive",
    "Perceptron": "perceptron",
    "StatisticalQuery": "queries",
    "agnostic_excess": "finite_class",
    "agnostic_sample_size": "finite_class",
    "best_rate": "experts",
    "conjunction_error": "queries",
    "excess_by_rounds": "by_rounds",
    "expected_gap": "adaptive",
    "gradient_excess": "regression",
    "likely_excess": "experts",
    "likely_private_regret_bound": "experts",
    "linear_excess": "by_rounds",
    "mistakes_sensitivity": "finite_class",
    "objective_excess": "regression",
    "output_excess": "regression",
    "perceptron_error": "perceptron",
    "perceptron_rounds": "perceptron",
    "private_rate": "experts",
    "private_regret_bound": "experts",
    "query_noise": "queries",
    "query_sample_size": "queries",
    "regret": "experts",
    "regret_bound": "experts",
    "regret_by_rounds": "by_rounds",
    "sampling_excess": "finite_class",
    "sharp_regret_bound": "experts",
    "squared_errors": "regression",
    "squared_sum_of_errors": "regression",
    "training_excess": "finite_class",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
