"""The only source of randomness. Nothing else in leastnoise may draw a bit.

Bits are the key stream of AES-256 in counter mode. If a bounded adversary distinguishes it from
fair bits with advantage adv, delta grows by at most (1 + e^ε)·adv (theory/release.md §1).
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from leastnoise.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

# One key makes 2^26 blocks of 16 bytes. No two of them are equal, whereas fair random blocks would
# collide with probability about 2^(2·26 − 129) = 2^-77.
BYTES_PER_KEY = 16 << 26
_CHUNK = 1 << 17  # the most bytes encrypted in one call, and the size of the buffer of zeros
_ZEROS = memoryview(bytes(_CHUNK))


class Entropy(ABC):
    """An infinite string of bits, read once from left to right.

    It can be neither copied nor pickled. Two readers of one string would publish the same noise
    twice, and the difference of two such releases has no noise at all.
    """

    @abstractmethod
    def _read(self, size: int) -> bytes:
        """The next `size` bytes, at most _CHUNK."""

    @final
    def words(self, count: int) -> NDArray[np.uint64]:
        """The next 64·count bits as an array of shape (count,)."""
        size = 8 * count
        parts = [self._read(min(_CHUNK, size - start)) for start in range(0, size, _CHUNK)]
        return np.frombuffer(b"".join(parts), dtype="<u8").astype(np.uint64, copy=False)

    @final
    def bits(self, count: int) -> int:
        """An integer in [0, 2^count) from fresh bits; `count` is at most 2^20.

        The bits are read in words of 64; the rest of the last word is dropped.
        """
        whole = -(-count // 64)
        return int.from_bytes(self._read(8 * whole), "little") >> (64 * whole - count)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "An entropy source can't be copied or pickled: its bits would be used twice."
        )


@final
class SystemEntropy(Entropy):
    """Fair bits, keyed by the operating system; the source of every release.

    It is safe to share between threads. A forked child never repeats its parent's bits: it gets a
    new key (and a new lock, as another thread may have held the old one). A key makes at most 2^26
    blocks. Its security rests on os.urandom and on AES-256; it does not protect bits that were
    already read.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process = os.getpid()
        self._stream: _KeyStream | None = None
        _sources_to_reset_on_fork().add(self)

    def _read(self, size: int) -> bytes:
        with self._lock:
            # The hook below covers os.fork; the process id covers a fork that bypassed Python.
            if self._process != os.getpid():
                self._forget()
            if self._stream is None or self._stream.left < size:
                self._stream = _KeyStream(os.urandom(32), os.urandom(16))
            return self._stream.read(size)

    def _forget(self) -> None:
        self._stream = None
        self._process = os.getpid()

    def _after_fork(self) -> None:
        self._lock = Lock()
        self._forget()


@final
class InsecureSeededEntropy(Entropy):
    """NOT PRIVATE. Bits that anyone who knows the seed can compute: only for tests and simulation.

    A seed (0 <= seed < 2^256) gives the same bits on every machine; not for several threads.
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 1 << 256:
            raise InvalidArgument(name="seed", value=seed, expected="0 <= seed < 2^256")
        self._stream = _KeyStream(seed.to_bytes(32, "big"), bytes(16))

    def _read(self, size: int) -> bytes:
        return self._stream.read(size)


@final
class _KeyStream:
    """AES-256-CTR's key stream; `left` is the number of bytes that its key may still produce."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        self.left = BYTES_PER_KEY

    def read(self, size: int) -> bytes:
        self.left -= size
        return self._cipher.update(_ZEROS[:size])


@cache
def _sources_to_reset_on_fork() -> weakref.WeakSet[SystemEntropy]:
    """The set of all live sources, which a forked child resets.

    The first call registers the hook that does so.
    """
    sources: weakref.WeakSet[SystemEntropy] = weakref.WeakSet()

    def reset() -> None:
        for source in tuple(sources):
            source._after_fork()  # noqa: SLF001

    if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
        os.register_at_fork(after_in_child=reset)
    return sources
