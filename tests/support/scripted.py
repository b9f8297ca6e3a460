"""An entropy source whose words a test writes down, to force the rarest paths of a sampler."""

from __future__ import annotations

from dalenius.randomness.entropy import Entropy


class Script(Entropy):
    """Gives the written words in order, and fails when they do not suffice."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def read(self, count: int) -> bytes:
        words = [self.left.pop(0) for _ in range((count + 7) // 8)]
        return b"".join(word.to_bytes(8, "little") for word in words)[:count]
