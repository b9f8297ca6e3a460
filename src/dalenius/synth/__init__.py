"""Publish once, answer for ever: synthetic tables, query release and online sessions."""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.synth.blockwise import Subsample as Subsample
    from dalenius.synth.online.counts import Online as Online
    from dalenius.synth.online.multiplicative_weights import InformationProjection as InformationProjection
    from dalenius.synth.online.multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
    from dalenius.synth.online.multiplicative_weights import entropy_drop as entropy_drop
    from dalenius.synth.online.multiplicative_weights import multiplicative_updates as multiplicative_updates
    from dalenius.synth.online.multiplicative_weights import online_threshold as online_threshold
    from dalenius.synth.online.multiplicative_weights import online_weights_accuracy as online_weights_accuracy
    from dalenius.synth.online.rounds import OnlinePlan as OnlinePlan
    from dalenius.synth.online.rounds import OnlineSession as OnlineSession
    from dalenius.synth.online.sealed import Release as Release
    from dalenius.synth.tables.families import FamilySynthesizer as FamilySynthesizer
    from dalenius.synth.tables.synthesizer import Synthesizer as Synthesizer

_HOMES = {
    "FamilySynthesizer": "tables.families",
    "InformationProjection": "online.multiplicative_weights",
    "MultiplicativeWeights": "online.multiplicative_weights",
    "Online": "online.counts",
    "OnlinePlan": "online.rounds",
    "OnlineSession": "online.rounds",
    "Release": "online.sealed",
    "Subsample": "blockwise",
    "Synthesizer": "tables.synthesizer",
    "entropy_drop": "online.multiplicative_weights",
    "multiplicative_updates": "online.multiplicative_weights",
    "online_threshold": "online.multiplicative_weights",
    "online_weights_accuracy": "online.multiplicative_weights",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
