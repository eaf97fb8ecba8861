"""Devices: their memory, and programs that run there."""

import gc

import numpy as np
import pytest

import kvc
from problems import Memory, Problem, arguments, check, gqa, run, same_bits, unwritten
from targets import DEFINITIONS, DEVICES
from test_attention import shapes_of

needs_device = pytest.mark.skipif(not DEVICES, reason="there is no device")
on_devices = pytest.mark.parametrize("target", DEVICES, ids=str)

# What the GPU's kernels take.
DECODES = [
    gqa(query_heads=kv * group, kv_heads=kv, width=width, dtype=dtype, append=append)
    for dtype, width, kv, group, append in (
        ("bf16", 128, 2, 4, True),
        ("f16", 128, 1, 8, False),
        ("bf16", 64, 2, 2, False),
        ("f16", 64, 3, 1, True),
    )
]
CONFIG = DECODES[0]
ROW_MAJOR = next(t for t in DEFINITIONS if "row_major" in str(t))
CACHE = kvc.CacheType(4, [kvc.Component("x", 2, 8, "bf16"), kvc.Component("y", 1, 4, "f32")])


@pytest.fixture(params=DEVICES, ids=str)
def device(request, stream_of):
    return stream_of(request.param).device


@pytest.fixture
def function(device, programs):
    return programs(CONFIG.text, next(t for t in DEVICES if t.device == device.kind))["attend"]


@pytest.fixture
def problem():
    return Problem(CONFIG, [33, 1, 16], [1, 1, 1])


# Calls


@needs_device
@on_devices
@pytest.mark.parametrize("config", DECODES, ids=shapes_of)
def test_decode(programs, stream_of, config, target):
    problem = Problem(config, [1, 15, 16, 17, 70], [1] * 5)
    function = programs(config.text, target)["attend"]
    stream = stream_of(target)
    memory = Memory(
        problem, function.cache_type, new_tokens=not config.append, device=stream.device
    )
    check(problem, run(function, problem, stream=stream, memory=memory))
    for name, values in problem.stored.items():
        for sequence, rows in zip(memory.sequences, values):
            assert same_bits(sequence.read(name), rows)


def test_memory_of_the_host_is_copied(function, problem, device):
    """Arrays, caches over arrays, here interleaved, and batches over arrays."""
    on_device = Memory(problem, function.cache_type, new_tokens=False, device=device)
    stream = kvc.Stream(device=device)
    want = run(function, problem, stream=stream, memory=on_device)

    memory = Memory(problem, function.cache_type, new_tokens=False)
    pages, page, heads, width = memory.view.memory("k").shape
    both = np.zeros((pages, page, heads, 2, width), memory.view.memory("k").dtype)
    arrays = {"k": both[:, :, :, 0], "v": both[:, :, :, 1]}
    for name, array in arrays.items():
        array[...] = memory.view.memory(name)
    view = kvc.CacheView(function.cache_type, arrays)
    batches = [kvc.Batch.from_sequences(memory.sequences, [1] * 3), memory.raw_batch()]
    for batch in batches:
        out = unwritten(problem)
        # Results with strides of their own, inside a larger array.
        wide = np.full((3, 2, *out[0].shape[1:]), 7, out[0].dtype)
        function(
            *arguments(problem, memory, view, batch), out=(wide[:, 1], out[1]), stream=stream
        )
        assert same_bits(wide[:, 1].copy(), want[0]) and same_bits(out[1], want[1])
        assert (wide[:, 0] == 7).all()
    # The new tokens are in the arrays, and nothing else.
    for name, array in arrays.items():
        for host, other in zip(memory.sequences, on_device.sequences):
            page, offset = np.divmod(host.slots(), CONFIG.page)
            assert same_bits(array[page, offset], other.read(name))
        assert np.isnan(array.astype(np.float32)).any()


def test_arrays_of_the_device(function, problem, device):
    memory = Memory(problem, function.cache_type, new_tokens=False, device=device)
    given = [
        device.put(a) if isinstance(a, np.ndarray) else a for a in arguments(problem, memory)
    ]
    out = tuple(device.put(array) for array in unwritten(problem))
    assert function(*given, out=out) == out  # on the device by itself
    check(problem, [array.get() for array in out])
    # Where no result is given it is the host's.
    results = function(*given)
    assert all(same_bits(a, b.get()) for a, b in zip(results, out))


def test_the_stream_goes_with_the_arguments(function, problem, device):
    memory = Memory(problem, function.cache_type, new_tokens=False, device=device)
    out = unwritten(problem)
    function(*arguments(problem, memory), out=out)
    check(problem, out)
    assert kvc.default_stream(device) is kvc.default_stream(kvc.Device(device.kind))
    assert kvc.default_stream(device) is not kvc.default_stream()


def test_wrong_places(function, problem, device, programs, stream):
    memory = Memory(problem, function.cache_type, device=device)
    on_host = Memory(problem, function.cache_type)
    with pytest.raises(kvc.Error, match="expected a stream of a device for a program of target "
                                        "'sm_90a', got a CPU stream"):  # fmt: skip
        function(*arguments(problem, on_host), stream=stream)
    with pytest.raises(kvc.Error, match="argument 3: expected memory of the host or of the "
                                        "stream's device"):  # fmt: skip
        function(*arguments(problem, memory), stream=stream)
    plain = programs(CONFIG.text, ROW_MAJOR)["attend"]
    with pytest.raises(kvc.Error, match="got a stream of device '"):
        plain(*arguments(problem, on_host), stream=kvc.Stream(device=device))


def test_programs_come_and_go(compiler, problem, device):
    """Their modules go with them, whatever is compiled at their address next."""
    for scale in (0.5, 0.25, 0.125):
        config = gqa(query_heads=8, kv_heads=2, width=128, dtype="bf16", scale=scale)
        problem = Problem(config, [20, 3], [1, 1])
        function = compiler.compile(config.text, target="gpu")["attend"]
        check(problem, run(function, problem, stream=kvc.default_stream(device)))
        del function
        gc.collect()


# Memory


def test_pools(device):
    pool = kvc.Pool(CACHE, num_pages=5, layers=2, debug_fill=True, device=device)
    view = pool.view(1)
    assert np.isnan(view.memory("x").astype(np.float32)).all()
    sequence = pool.sequence(6)
    values = np.arange(6 * 2 * 8, dtype=np.float32).reshape(6, 2, 8)
    sequence.write("x", values, layer=1)
    assert (sequence.read("x", layer=1).astype(np.float32) == values).all()
    assert np.isnan(sequence.read("x", layer=0).astype(np.float32)).all()
    assert np.isnan(view.memory("y")).all()
    sequence.write("y", np.ones((2, 1, 4)), start=4, layer=1)
    assert (sequence.read("y", layer=1)[4:] == 1).all()
    assert (sequence.read("x", layer=1).astype(np.float32) == values).all()
    view.fill(3)
    assert (view.memory("x") == 3).all() and (view.memory("y") == 3).all()
    with pytest.raises(ValueError, match="read-only"):
        view.memory("x")[...] = 0
    sequence.free()
    assert np.isnan(view.memory("y")[:2]).all() and (view.memory("y")[2:] == 3).all()


def test_batches(device):
    pool = kvc.Pool(CACHE, num_pages=5, device=device)
    batch = kvc.Batch.from_sequences([pool.sequence(6), pool.sequence(1)], [2, 1])
    assert batch.device is device and batch.num_tokens == 3
    arrays = batch.arrays()
    assert arrays["slots"].tolist() == [4, 5, 8] and arrays["kv_lens"].tolist() == [6, 1]


def test_device_arrays(device):
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    array = device.put(values[:, ::-1])
    assert array.shape == (2, 3, 4) and array.ndim == 3 and array.dtype == np.float32
    assert (array.get() == values[:, ::-1]).all()
    array.set(values)
    assert (array.get() == values).all()
    apart = kvc.DeviceArray(device, (2, 3, 4), np.float32, row_stride=100)
    apart.set(values)
    assert (apart.get() == values).all()
    with pytest.raises(ValueError, match="expected a row_stride of at least 12, got 11"):
        kvc.DeviceArray(device, (2, 3, 4), np.float32, row_stride=11)
    for other in (values[:1], values.astype(np.float16)):
        with pytest.raises(ValueError, match="expected an array of float32 and shape"):
            array.set(other)
    assert device.put(np.zeros((0, 3), np.int32)).get().shape == (0, 3)
    assert device.put(np.array(3, np.int64)).get() == 3
    with pytest.raises(TypeError, match="expected elements of"):
        device.put(np.zeros(3, np.complex64))
    with pytest.raises(kvc.Error, match="rank at most 6, got 7"):
        device.put(np.zeros((1,) * 7, np.float32))


def test_no_memory(device):
    with pytest.raises(kvc.Error, match="cannot allocate") as caught:
        kvc.DeviceArray(device, (1 << 50,), np.float32)
    assert caught.value.status == kvc.Status.OUT_OF_MEMORY
    with pytest.raises(kvc.Error, match="no memory for a pool of 1073741824 pages"):
        kvc.Pool(CACHE, num_pages=1 << 30, layers=1 << 10, device=device)


# Devices


def test_description(device):
    info = device.info()
    assert info["name"] and info["total_memory"] > 0 and info["num_multiprocessors"] > 0
    assert info["compute_capability"] >= (9, 0) and info["driver_version"] >= 12000
    assert kvc.Stream(device=device).num_workers == info["num_multiprocessors"]
    assert kvc.Device.count(device.kind) > device.ordinal
    assert not device.is_cpu and repr(device) == f"Device('{device.kind}', 0)"
    device.synchronize()


def test_the_cpu_is_a_device(stream):
    cpu = kvc.Device()
    assert cpu.is_cpu and cpu.info() == {"name": "cpu"} and kvc.Device.count("cpu") == 1
    assert kvc.Stream(2, cpu).num_workers == 2 and stream.device.is_cpu
    assert kvc.Pool(CACHE, 3, device=cpu).view().memory("x").flags.writeable
    cpu.synchronize()
    with pytest.raises(kvc.Error, match="expected a device with memory, got the CPU"):
        cpu.put(np.zeros(3, np.float32))


def test_wrong_devices():
    with pytest.raises(kvc.Error, match="expected CUDA's driver in '/nowhere.so'") as caught:
        kvc.Device("/nowhere.so")
    assert caught.value.status == kvc.Status.NOT_FOUND
    with pytest.raises(kvc.Error, match="'/nowhere.so'"):
        kvc.Device.count("/nowhere.so")


def test_wrong_ordinals_and_threads(device):
    with pytest.raises(kvc.Error, match="expected a device from 0 to .*, got 1000"):
        kvc.Device(device.kind, 1000)
    with pytest.raises(kvc.Error, match=r"for a stream of Device\(.*, got 2"):
        kvc.Stream(2, device)
