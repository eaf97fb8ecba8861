"""Where a problem's cache and batch are: in a pool, or in buffers of an engine."""

from functools import cached_property

import numpy as np

import kvc
import kvc.dtypes

FILLS = {"nan": np.nan, "zero": 0.0, "inf": np.inf}


class Memory:
    """A problem's cache in a page pool, and its batch.

    Every slot that no sequence owns holds `fill`, and some pages stay free. The
    pool is in the memory of `device`, by default the host's.
    """

    def __init__(
        self, problem, cache_type, fill="nan", free_pages=3, seed=1, new_tokens=True, device=None
    ):
        self.problem = problem
        pages = [-(-n // cache_type.page_size) for n in problem.kv_lens]
        self.pool = kvc.Pool(
            cache_type, sum(pages) + free_pages, page_order_seed=seed, device=device
        )
        self.view = self.pool.view()
        self.view.fill(FILLS[fill])
        self.sequences = [self.pool.sequence(n) for n in problem.kv_lens]
        for name in problem.stored:
            for sequence, values, query_len in zip(
                self.sequences, problem.stored[name], problem.query_lens
            ):
                # With append, the program writes the new tokens.
                old = len(values) if new_tokens else max(0, len(values) - query_len)
                sequence.write(name, values[:old])

    @cached_property
    def batch(self):
        problem = self.problem
        if all(q <= n for q, n in zip(problem.query_lens, problem.kv_lens)):
            return kvc.Batch.from_sequences(self.sequences, problem.query_lens, self.pool)
        return self.raw_batch()

    def raw_batch(self, **others):
        """Returns the batch over arrays, with a padded table of pages."""
        problem = self.problem
        most = max((len(s.pages) for s in self.sequences), default=0)
        table = np.full((len(self.sequences), most), -1, np.int32)
        slots = []
        for row, sequence, query_len in zip(table, self.sequences, problem.query_lens):
            row[: len(sequence.pages)] = sequence.pages
            own = sequence.slots(max(0, len(sequence) - query_len))
            slots += [np.full(query_len - len(own), -1), own]
        arguments = {
            "query_start": problem.query_start,
            "kv_lens": np.array(problem.kv_lens, np.int32),
            "page_ids": table,
            "slots": np.concatenate([[], *slots]).astype(np.int64),
        }
        return kvc.RawBatch(**{**arguments, **others})

    def compressed_batch(self):
        """Returns the batch over arrays, with page ids in compressed rows."""
        pages = [np.array(sequence.pages, np.int32) for sequence in self.sequences]
        starts = np.concatenate([[0], np.cumsum([len(ids) for ids in pages])])
        ids = np.concatenate([np.zeros(0, np.int32), *pages])
        return self.raw_batch(page_ids=ids, page_start=starts)

    def read(self, name, index):
        """Returns what the cache holds of a component of a sequence."""
        return self.sequences[index].read(name)


class Buffers:
    """A problem's cache in the buffers of an engine, and its batch as arrays.

    What `config.foreign` says of them. Slots that no sequence owns hold `fill`.
    """

    def __init__(self, problem, fill="nan", free_pages=3, seed=1, new_tokens=True):
        config, self.problem = problem.config, problem
        counts = [-(-n // config.page) for n in problem.kv_lens]
        self.page_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        rng = np.random.default_rng(seed)
        self.page_ids = rng.permutation(sum(counts) + free_pages).astype(np.int32)
        self._allocate(len(self.page_ids), FILLS[fill])
        for name, sequences in problem.stored.items():
            for index, (values, query_len) in enumerate(zip(sequences, problem.query_lens)):
                # With append, the program writes the new tokens.
                old = len(values) if new_tokens else max(0, len(values) - query_len)
                page, offset = np.divmod(self.slots(index)[:old], config.page)
                self.components[name][page, offset] = values[:old]

    def _allocate(self, pages, fill):
        """Makes the buffers, and views of them as [page, token, head, width]."""
        config, foreign = self.problem.config, self.problem.config.foreign
        nhd = foreign.order == "nhd"

        def empty(heads, width, dtype, *outer):
            inner = (config.page, heads) if nhd else (heads, config.page)
            return np.full((pages, *outer, *inner, width), fill, kvc.dtypes.to_numpy(dtype))

        if foreign.fused:
            buffer = empty(*config.components[0][1:], len(config.components))
            self.buffers, views = [buffer], [buffer[:, i] for i in range(len(config.components))]
        else:
            self.buffers = views = [empty(*component[1:]) for component in config.components]
        names = [name for name, *_ in config.components]
        views = views if nhd else [view.transpose(0, 2, 1, 3) for view in views]
        self.components = dict(zip(names, views))

    def pages(self, index):
        """Returns the page ids of a sequence."""
        return self.page_ids[self.page_start[index] : self.page_start[index + 1]]

    def slots(self, index):
        """Returns the slots of the tokens of a sequence."""
        page, tokens = self.problem.config.page, np.arange(self.problem.kv_lens[index])
        return self.pages(index)[tokens // page].astype(np.int64) * page + tokens % page

    def arrays(self):
        """Returns the arrays of the batch, in the order of the function's inputs."""
        problem, count = self.problem, len(self.problem.kv_lens)
        slots = [np.zeros(0, np.int64)]
        for index, query_len in enumerate(problem.query_lens):
            own = self.slots(index)[max(0, problem.kv_lens[index] - query_len) :]
            slots += [np.full(query_len - len(own), -1), own]
        ids = [self.page_start, self.page_ids]
        if problem.config.foreign.table:
            most = max((len(self.pages(i)) for i in range(count)), default=0)
            # What pads a row is no page.
            table = np.full((count, most + 2), 2**30, np.int32)
            for index in range(count):
                table[index, : len(self.pages(index))] = self.pages(index)
            ids = [table]
        lens = np.array(problem.kv_lens, np.int32)
        return [problem.query_start, lens, *ids, np.concatenate(slots), problem.positions]

    def read(self, name, index):
        """Returns what the cache holds of a component of a sequence."""
        page, offset = np.divmod(self.slots(index), self.problem.config.page)
        return self.components[name][page, offset]
