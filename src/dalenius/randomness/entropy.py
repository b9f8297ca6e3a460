"""Where random bits come from: the operating system, or AES-256-CTR under a key from it that is used once."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import NoReturn, SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dalenius.errors import InvalidParameter, NotCopyable

_ZEROS = bytes(1 << 18)
_POOL_WORDS = 256


class Entropy(ABC):
    """A source of independent, uniform random bits."""

    @abstractmethod
    def read(self, count: int) -> bytes:
        """`count` random bytes that nobody has seen and nobody will see again."""

    def bits(self, count: int) -> int:
        """An integer of `count` uniform random bits."""
        return int.from_bytes(self.read((count + 7) // 8), "little") >> (-count % 8)

    def word(self) -> int:
        """An integer of 64 uniform random bits."""
        return self.bits(64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` uniform 64-bit words."""
        return np.frombuffer(self.read(8 * count), dtype=np.uint64)

    def below(self, n: int) -> int:
        """A uniform integer in 0, ..., n - 1. Rejected tries say nothing about the result."""
        if n < 1:
            raise InvalidParameter("n", n, allowed="a whole number, 1 or more")
        size = (n - 1).bit_length()
        while True:
            value = self.bits(size)
            if value < n:
                return value


class _StreamCipher(Entropy):
    """The process-wide source behind `system_entropy`.

    Every request, and every refill of the small pool for single words, takes a new 256-bit key from `os.urandom`,
    runs AES-256-CTR under it and forgets the key. So no key outlives its output: earlier output cannot be recomputed
    (what fast key erasure is for), and later output depends on fresh bits of the operating system. A machine that is
    cloned while it runs takes along the words of the pool, 255 at most; see docs/sharp-edges.md. One key gives at
    most 2^30 bytes, which no distinguisher tells from uniform with advantage above 2^-77 unless it breaks AES.

    A word leaves the pool by `list.pop`, which is atomic: no two threads, and no signal handler, get the same one.
    After a fork the child drops the pool. The fork hook does it even if a process number is used again; comparing
    the process number does it even if the fork went past Python's hooks.
    """

    __slots__ = ("_owner", "_pool")

    def __init__(self) -> None:
        self._pool: list[int] = []
        self._owner = os.getpid()

    def read(self, count: int) -> bytes:
        if count > _POOL_WORDS:
            return self.words((count + 7) // 8).tobytes()[:count]
        return b"".join([self.word().to_bytes(8, "little") for _ in range(0, count, 8)])[:count]

    def bits(self, count: int) -> int:
        value = self.word()
        for _ in range(64, count, 64):
            value = value << 64 | self.word()
        return value >> (-count % 64 if count else 64)

    def word(self) -> int:
        if os.getpid() != self._owner:
            self.forget()
        try:
            return self._pool.pop()
        except IndexError:
            return self._refill()

    def words(self, count: int) -> NDArray[np.uint64]:
        # Two words more, because some releases of the cipher want room for one block beyond the output.
        buffer = np.empty(count + 2, dtype=np.uint64)
        target, end = buffer.data.cast("B"), 8 * count
        for start in range(0, end, len(_ZEROS)):
            if start % (1 << 30) == 0:
                cipher = _fresh_cipher()
            size = min(len(_ZEROS), end - start)
            cipher.update_into(_ZEROS if size == len(_ZEROS) else _ZEROS[:size], target[start:])
        return buffer[:count]

    def forget(self) -> None:
        """Drop what was drawn ahead; a child process does this so that it never repeats its parent."""
        self._pool.clear()
        self._owner = os.getpid()

    def _refill(self) -> int:
        fresh = self.words(_POOL_WORDS)
        pool: list[int] = fresh.tolist()
        fresh.fill(0)
        first = pool.pop()
        self._pool.extend(pool)
        return first

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise NotCopyable("the entropy source", instead="system_entropy() in the process that needs it")


def _fresh_cipher() -> CipherContext:
    return Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()


_SYSTEM = _StreamCipher()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SYSTEM.forget)


def chosen(entropy: Entropy | None) -> Entropy:
    """The source that was handed in, or the system's if none was."""
    if entropy is None:
        return _SYSTEM
    if not isinstance(entropy, Entropy):
        raise InvalidParameter("entropy", entropy, allowed="a source of random bits such as system_entropy()")
    return entropy


def system_entropy() -> Entropy:
    """The process-wide source of random bits, safe under threads, fork and spawn. It takes no seed.

    Guarantee: if the operating system's generator is sound and AES-256 is a pseudorandom permutation, what this
    source gives cannot be told from independent uniform bits, and no bit is given twice.
    Reference: Bernstein 2017, fast-key-erasure random-number generators; NIST SP 800-38A (counter mode).
    """
    return _SYSTEM


def fresh_entropy() -> Entropy:
    """The process-wide source with nothing drawn ahead: all that it gives from here on comes from keys that the
    operating system makes later, so a machine that was cloned before this call repeats nothing."""
    _SYSTEM.forget()
    return _SYSTEM
