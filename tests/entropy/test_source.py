from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from leastnoise.entropy import source as door
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy, SystemEntropy
from leastnoise.errors import InvalidArgument

SOURCES = [SystemEntropy, lambda: InsecureSeededEntropy(1)]


def test_seeded_words_are_aes_256_in_counter_mode() -> None:
    # AES-256 of the all-zero block under the all-zero key: NIST's KAT, vector 0 of
    # "CTR, key 0": dc95c078a2408989ad48a21492842087.
    words = InsecureSeededEntropy(0).words(2)
    assert words.astype("<u8").tobytes().hex() == "dc95c078a2408989ad48a21492842087"


@pytest.mark.parametrize("make", SOURCES)
def test_words_have_the_asked_shape(make) -> None:
    source = make()
    for count in (0, 1, 3, 1 << 15):
        words = source.words(count)
        assert words.shape == (count,)
        assert words.dtype == np.uint64


@pytest.mark.parametrize("make", SOURCES)
def test_bits_are_in_range_and_all_are_used(make) -> None:
    source = make()
    for count in (0, 1, 63, 64, 65, 200):
        drawn = [source.bits(count) for _ in range(200)]
        assert all(0 <= number < 1 << count for number in drawn)
        every = 0
        for number in drawn:
            every |= number
        assert every == (1 << count) - 1


def test_a_seed_is_reproducible_and_the_string_is_read_once() -> None:
    whole = InsecureSeededEntropy(7).words(1 << 15)
    source = InsecureSeededEntropy(7)
    parts = [source.words(size) for size in (1, 5, 20000, 12762)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert len(np.unique(whole)) == whole.size


@pytest.mark.parametrize("seed", [-1, 1 << 256])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(InvalidArgument, match="seed"):
        InsecureSeededEntropy(seed)


def test_two_system_sources_differ() -> None:
    assert not np.array_equal(SystemEntropy().words(4), SystemEntropy().words(4))


@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize(
    "duplicate", [pickle.dumps, copy.copy, copy.deepcopy, lambda s: pickle.dumps(s, protocol=0)]
)
def test_no_copies(make, duplicate) -> None:
    with pytest.raises(TypeError, match="copied or pickled"):
        duplicate(make())


def _in_child(source: Entropy, action) -> bytes:
    """Run `action` in a forked child and return the 32 bytes that it then draws."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may run in here
        try:
            action()
            os.write(writer, source.words(4).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        drawn = pipe.read()
    os.waitpid(child, 0)
    return drawn


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
# Python >= 3.12 warns of forks in a process with threads, which pytest plugins may have started.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
class TestFork:
    def test_a_child_never_repeats_its_parent(self) -> None:
        source = SystemEntropy()
        source.words(3)
        children = [_in_child(source, lambda: None) for _ in range(3)]
        streams = {*children, source.words(4).tobytes()}
        assert len(streams) == 4
        assert all(len(stream) == 32 for stream in streams)

    def test_a_lock_held_while_forking_does_not_block_the_child(self) -> None:
        source = SystemEntropy()
        with source._lock:
            assert len(_in_child(source, lambda: None)) == 32

    def test_the_process_id_alone_is_enough(self) -> None:
        """A fork behind Python's back leaves stream and lock as they were, but for the pid."""
        source = SystemEntropy()
        source.words(1)
        stream, process = source._stream, source._process

        def undo_the_hook() -> None:
            source._stream, source._process = stream, process

        assert _in_child(source, undo_the_hook) != source.words(4).tobytes()

    def test_the_control_a_seeded_source_does_repeat(self) -> None:
        source = InsecureSeededEntropy(5)
        assert _in_child(source, lambda: None) == source.words(4).tobytes()


def test_threads_share_a_source_without_sharing_words() -> None:
    source = SystemEntropy()
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(source.words, [3000] * 40))
    assert len(np.unique(np.concatenate(drawn))) == 3000 * 40


def test_a_key_serves_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "BYTES_PER_KEY", 1 << 18)
    source = SystemEntropy()
    streams = []
    for _ in range(5):
        source.words(1 << 14)  # 2^17 bytes, half a share
        assert source._stream is not None
        streams.append(source._stream)
    assert [len({id(stream) for stream in streams[:n]}) for n in range(1, 6)] == [1, 1, 2, 2, 3]
    assert [streams[0].left, streams[2].left, streams[4].left] == [0, 0, 1 << 17]


def test_the_share_is_2_to_the_26_blocks() -> None:
    assert door.BYTES_PER_KEY == 16 * 2**26
