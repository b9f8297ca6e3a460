"""Learning theory that can be run: each theorem is a function, next to the algorithm that it is about."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.learn.theory.adaptive import AdaptiveAnalysis as AdaptiveAnalysis
    from dalenius.learn.theory.adaptive import Overfitting as Overfitting
    from dalenius.learn.theory.by_rounds import ByRounds as ByRounds
    from dalenius.learn.theory.by_rounds import excess_by_rounds as excess_by_rounds
    from dalenius.learn.theory.by_rounds import regret_by_rounds as regret_by_rounds
    from dalenius.learn.theory.experts import Hedge as Hedge
    from dalenius.learn.theory.experts import LossTable as LossTable
    from dalenius.learn.theory.finite_class import FiniteClass as FiniteClass
    from dalenius.learn.theory.linear_learner import LinearLearner as LinearLearner
    from dalenius.learn.theory.mixture import Mixture as Mixture
    from dalenius.learn.theory.mixture import MixtureLearner as MixtureLearner
    from dalenius.learn.theory.perceptron import Perceptron as Perceptron
    from dalenius.learn.theory.queries import Conjunction as Conjunction
    from dalenius.learn.theory.queries import Oracle as Oracle
    from dalenius.learn.theory.queries import StatisticalQuery as StatisticalQuery

__getattr__, __dir__ = names(
    __name__,
    {
        "AdaptiveAnalysis": "adaptive",
        "ByRounds": "by_rounds",
        "Conjunction": "queries",
        "FiniteClass": "finite_class",
        "Hedge": "experts",
        "LinearLearner": "linear_learner",
        "LossTable": "experts",
        "Mixture": "mixture",
        "MixtureLearner": "mixture",
        "Oracle": "queries",
        "Overfitting": "adaptive",
        "Perceptron": "perceptron",
        "StatisticalQuery": "queries",
        "excess_by_rounds": "by_rounds",
        "regret_by_rounds": "by_rounds",
    },
)
