"""Ragged batches."""

from collections.abc import Sequence as AnySequence
from typing import Union

import numpy as np

from . import _kvc
from .cache import Pool, Sequence, handles
from .device import Device
from .errors import Error, Status


class Batch:
    """A batch argument: sequences and their new tokens.

    The new tokens of all sequences, one sequence after the other, are the rows
    of the tensors that go with the batch. `device` is that of the pool, or None.
    """

    def __init__(self, batch: _kvc.Batch, device: Union[Device, None] = None) -> None:
        self._batch = batch
        self.device = device

    @classmethod
    def from_sequences(
        cls,
        sequences: AnySequence[Sequence],
        query_lens: AnySequence[int],
        pool: Union[Pool, None] = None,
    ) -> "Batch":
        """Makes a batch of sequences of one pool.

        It is a snapshot: make a new one after `Sequence.append`.

        Parameters
        ----------
        sequences : sequence of Sequence
            Each at most once.
        query_lens : sequence of int
            How many of the last tokens of each sequence are new.
        pool : Pool, optional
            Their pool; needed if there is no sequence.

        Raises
        ------
        Error
            If a sequence was freed, is of another pool, or has too few tokens.
        """
        if pool is None:
            if not sequences:
                raise Error(Status.INVALID_ARGUMENT, "expected a pool for a batch of no sequence")
            pool = sequences[0].pool
        return cls(
            _kvc.Batch.from_sequences(pool._pool, handles(sequences), list(map(int, query_lens))),
            pool.device,
        )

    @property
    def num_tokens(self) -> int:
        """New tokens of all sequences."""
        return self._batch.num_tokens

    @property
    def max_query_len(self) -> int:
        """Upper bound of the new tokens of one sequence."""
        return self._batch.max_query_len

    @property
    def max_kv_len(self) -> int:
        """Upper bound of the tokens of one sequence."""
        return self._batch.max_kv_len

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays by name, as the host has them, without a copy.

        ``query_start`` (sequences + 1), ``kv_lens`` (sequences), ``page_ids``
        and, unless it is a padded table, ``page_start`` (sequences + 1), all of
        int32; ``slots`` (tokens) of int64; ``positions`` (tokens) of int32.
        """
        return self._batch.arrays()


class RawBatch(Batch):
    """A batch over arrays that the caller made; checked only by the call.

    Parameters
    ----------
    query_start : array of int32, shape (sequences + 1,)
        Where the new tokens of each sequence start.
    kv_lens : array of int32, shape (sequences,)
        Tokens of each sequence, new ones included.
    page_ids : array of int32, shape (sequences, pages) or (pages,)
        A padded table, or the pages of all sequences one after the other.
    slots : array of int64, shape (tokens,)
        Where each new token is appended; -1 = nowhere.
    positions : array of int32, shape (tokens,), optional
        Positions of the new tokens; default: the last ones of each sequence.
    page_start : array of int32, shape (sequences + 1,), optional
        Where the pages of each sequence start in `page_ids`, if that has rank 1.
    num_tokens, max_query_len, max_kv_len : int, optional
        Default: what the arrays say.
    """

    def __init__(
        self,
        query_start: np.ndarray,
        kv_lens: np.ndarray,
        page_ids: np.ndarray,
        slots: np.ndarray,
        positions: Union[np.ndarray, None] = None,
        page_start: Union[np.ndarray, None] = None,
        num_tokens: Union[int, None] = None,
        max_query_len: Union[int, None] = None,
        max_kv_len: Union[int, None] = None,
    ) -> None:
        query_start = np.ascontiguousarray(query_start, np.int32)
        kv_lens = np.ascontiguousarray(kv_lens, np.int32)
        slots = np.ascontiguousarray(slots, np.int64)
        table = np.ascontiguousarray(page_ids, np.int32)
        query_lens = np.diff(query_start)
        if positions is None:
            positions = np.concatenate(
                [np.arange(kv - q, kv) for q, kv in zip(query_lens, kv_lens)] or [[]]
            )
        if page_start is not None:
            page_start = np.ascontiguousarray(page_start, np.int32)
        super().__init__(
            _kvc.Batch.from_arrays(
                query_start,
                kv_lens,
                table.reshape(-1),
                page_start,
                table.shape[1] if table.ndim == 2 else 0,
                slots,
                np.ascontiguousarray(positions, np.int32),
                num_sequences=len(kv_lens),
                num_tokens=len(slots) if num_tokens is None else num_tokens,
                max_query_len=_maximum(query_lens) if max_query_len is None else max_query_len,
                max_kv_len=_maximum(kv_lens) if max_kv_len is None else max_kv_len,
            )
        )


def _maximum(values: np.ndarray) -> int:
    return int(values.max(initial=0))
