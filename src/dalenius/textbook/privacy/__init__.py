"""Definitions and bounds of the source documents: databases, queries, sensitivities, interaction models."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.textbook.privacy import databases as databases
    from dalenius.textbook.privacy import sensitivities as sensitivities
    from dalenius.textbook.privacy.accuracy import NumericAccuracy as NumericAccuracy
    from dalenius.textbook.privacy.accuracy import SurveyAccuracy as SurveyAccuracy
    from dalenius.textbook.privacy.accuracy import ThresholdAccuracy as ThresholdAccuracy
    from dalenius.textbook.privacy.accuracy import Utility as Utility
    from dalenius.textbook.privacy.accuracy import utility_bounds as utility_bounds
    from dalenius.textbook.privacy.complexity import fat_shattering_dimension as fat_shattering_dimension
    from dalenius.textbook.privacy.complexity import fat_shatters as fat_shatters
    from dalenius.textbook.privacy.complexity import laplace_error as laplace_error
    from dalenius.textbook.privacy.complexity import most_queries as most_queries
    from dalenius.textbook.privacy.complexity import shatters as shatters
    from dalenius.textbook.privacy.complexity import vc_bound as vc_bound
    from dalenius.textbook.privacy.complexity import vc_dimension as vc_dimension
    from dalenius.textbook.privacy.models import ComputationalDP as ComputationalDP
    from dalenius.textbook.privacy.models import Continual as Continual
    from dalenius.textbook.privacy.models import Interactive as Interactive
    from dalenius.textbook.privacy.models import Local as Local
    from dalenius.textbook.privacy.models import NonInteractive as NonInteractive
    from dalenius.textbook.privacy.models import PanPrivate as PanPrivate
    from dalenius.textbook.privacy.models import SecureEvaluation as SecureEvaluation
    from dalenius.textbook.privacy.models import Synopsis as Synopsis
    from dalenius.textbook.privacy.models import SyntheticDatabase as SyntheticDatabase
    from dalenius.textbook.privacy.models import substitute as substitute
    from dalenius.textbook.privacy.models import substitutes as substitutes
    from dalenius.textbook.privacy.models import synopsis_error as synopsis_error
    from dalenius.textbook.privacy.queries import LinearQueries as LinearQueries
    from dalenius.textbook.privacy.queries import LinearQuery as LinearQuery
    from dalenius.textbook.privacy.queries import conjunctions as conjunctions
    from dalenius.textbook.privacy.queries import cube as cube
    from dalenius.textbook.privacy.queries import histogram_query as histogram_query
    from dalenius.textbook.privacy.queries import intervals as intervals
    from dalenius.textbook.privacy.queries import marginals as marginals
    from dalenius.textbook.privacy.queries import monotone_conjunctions as monotone_conjunctions
    from dalenius.textbook.privacy.sensitivities import global_sensitivity as global_sensitivity
    from dalenius.textbook.privacy.sensitivities import utility_sensitivity as utility_sensitivity
    from dalenius.textbook.privacy.sensitivities import worst_delta as worst_delta
    from dalenius.textbook.privacy.smooth import is_smooth_bound as is_smooth_bound
    from dalenius.textbook.privacy.smooth import local_sensitivity as local_sensitivity
    from dalenius.textbook.privacy.smooth import median_local_sensitivity as median_local_sensitivity
    from dalenius.textbook.privacy.smooth import median_profile as median_profile
    from dalenius.textbook.privacy.smooth import median_smooth_sensitivity as median_smooth_sensitivity
    from dalenius.textbook.privacy.smooth import smooth_sensitivity as smooth_sensitivity

_HOMES = {
    "ComputationalDP": "models",
    "Continual": "models",
    "Interactive": "models",
    "LinearQueries": "queries",
    "LinearQuery": "queries",
    "Local": "models",
    "NonInteractive": "models",
    "NumericAccuracy": "accuracy",
    "PanPrivate": "models",
    "SecureEvaluation": "models",
    "SurveyAccuracy": "accuracy",
    "Synopsis": "models",
    "SyntheticDatabase": "models",
    "ThresholdAccuracy": "accuracy",
    "Utility": "accuracy",
    "conjunctions": "queries",
    "cube": "queries",
    "databases": "databases",
    "fat_shattering_dimension": "complexity",
    "fat_shatters": "complexity",
    "global_sensitivity": "sensitivities",
    "histogram_query": "queries",
    "intervals": "queries",
    "is_smooth_bound": "smooth",
    "laplace_error": "complexity",
    "local_sensitivity": "smooth",
    "marginals": "queries",
    "median_local_sensitivity": "smooth",
    "median_profile": "smooth",
    "median_smooth_sensitivity": "smooth",
    "monotone_conjunctions": "queries",
    "most_queries": "complexity",
    "sensitivities": "sensitivities",
    "shatters": "complexity",
    "smooth_sensitivity": "smooth",
    "substitute": "models",
    "substitutes": "models",
    "synopsis_error": "models",
    "utility_bounds": "accuracy",
    "utility_sensitivity": "sensitivities",
    "vc_bound": "complexity",
    "vc_dimension": "complexity",
    "worst_delta": "sensitivities",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
