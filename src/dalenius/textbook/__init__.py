"""The theorems and algorithms of the source documents, as they have them, corrected where they err.

`privacy` has definitions and bounds, `release` the release of many answers, `learning` the theory of learning and
`pricing` prices for digital goods. What the database itself works with stands in its own room: noise, selection, sparse
vector and robust statistics in `dalenius.mechanisms`, composition in `dalenius.accounting`, group privacy and
divergences in `dalenius.privacy`, multiplicative weights in `dalenius.synth`.
"""

from typing import TYPE_CHECKING

from dalenius.lazy import names

if TYPE_CHECKING:
    from dalenius.textbook import learning as learning
    from dalenius.textbook import pricing as pricing
    from dalenius.textbook import privacy as privacy
    from dalenius.textbook import release as release

_HOMES = {
    "learning": "learning",
    "pricing": "pricing",
    "privacy": "privacy",
    "release": "release",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = names(__name__, _HOMES)
