"""Makes .npy files in the given folder: some right, some not."""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
numbers = np.arange(48, dtype=np.float32)
np.save(folder / "x.npy", numbers)
np.save(folder / "y.npy", 2 * numbers)
np.save(folder / "sum.npy", 3 * numbers)
np.save(folder / "half.npy", numbers.astype(np.float16))
np.save(folder / "big-endian.npy", numbers.astype(">f4"))
np.save(folder / "fortran.npy", np.asfortranarray(numbers.reshape(6, 8)))
np.save(folder / "words.npy", np.array(["a", "b"]))
np.save(folder / "bf16.npy", np.array([0x3F80, 0x4000], dtype=np.uint16))

right = (folder / "x.npy").read_bytes()
(folder / "short.npy").write_bytes(right[:-4])
(folder / "no-magic.npy").write_bytes(b"hello")
(folder / "cut.npy").write_bytes(right[:40])
(folder / "huge.npy").write_bytes(right.replace(b"(48,)", b"(9223372036854775807, 16)"))
(folder / "negative.npy").write_bytes(right.replace(b"(48,)", b"(-48,)"))
(folder / "raw.bin").write_bytes(numbers[:3].tobytes())
