"""``python -m kvc.accuracy``: what caches cost, as a table, JSON and a plot."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import kvc
import reference
from kvc import accuracy
from kvc.scatter import Point, scatter_svg

SMALL = ["--tokens=70", "--kv-heads=2", "--width=64", "--queries=5", "--target=definition"]
CACHE = "page = 16, k: 2x64x{}, v: 2x64x{}"
DOCS = Path(__file__).parents[2] / "docs" / "Accuracy.md"


def run(capsys, *arguments):
    assert accuracy.main([*SMALL, *arguments]) == 0
    return capsys.readouterr().out


def run_json(capsys, *arguments):
    return json.loads(run(capsys, "--json", *arguments))


def errors_of(capsys, *types, data="gaussian", more=()):
    """Returns the median row error of caches with these elements and scales."""
    caches = [f"--cache={CACHE.format(t, t)}" for t in types]
    found = run_json(capsys, f"--data={data}", *caches, *more)["caches"]
    return [cache["row_error"]["median"] for cache in found]


# --- Numbers -------------------------------------------------------------------


def test_the_reference_is_that_of_the_tests():
    data = accuracy.make_data("outliers", 30, (2, 16, 2, 24), 6, 4, seed=3)
    output, lse = accuracy.reference(data, 0.25)
    want, want_lse = reference.attention(
        [(data.queries, [data.keys])], [data.values], [4], scale=0.25
    )
    np.testing.assert_allclose(output, want, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(lse, want_lse, rtol=1e-12)


def test_errors_are_those_of_the_rounded_rows(capsys):
    """With rows rounded by NumPy, float64 attention gives the same errors."""
    [bf16] = run_json(capsys, f"--cache={CACHE.format('bf16', 'bf16')}")["caches"]
    data = accuracy.make_data("gaussian", 70, (2, 64, 2, 64), 8, 5, seed=0)
    scale = float(np.float32(0.125))
    want, want_lse = accuracy.reference(data, scale)
    rounded = accuracy.Data(
        *(a.astype(ml_dtypes.bfloat16).astype(np.float32) for a in (data.keys, data.values)),
        data.queries, data.name,
    )  # fmt: skip
    got, got_lse = accuracy.reference(rounded, scale)
    errors = np.linalg.norm(got - want, axis=2) / np.linalg.norm(want, axis=2)
    assert bf16["row_error"]["median"] == pytest.approx(np.median(errors), rel=1e-2)
    assert bf16["row_error"]["p99"] == pytest.approx(np.quantile(errors, 0.99), rel=1e-2)
    assert bf16["row_error"]["worst"] == pytest.approx(errors.max(), rel=1e-2)
    assert bf16["lse_error"]["worst"] == pytest.approx(np.abs(got_lse - want_lse).max(), rel=1e-2)


def test_finer_codes_are_closer(capsys):
    f32, i8, coarse8, i4 = errors_of(
        capsys, "f32", "i8 scale<f32, token>", "f8E4M3FN scale<f32, token>", "i4 scale<f32, token>"
    )
    assert f32 < 1e-5 < i8 < coarse8 < i4 < 0.5
    wide, narrow, shifted = errors_of(
        capsys, "i4 scale<f32, token>", "i4 scale<f32, group = 32>", "i4 scale<f32, group = 32, zero_point>"
    )  # fmt: skip
    assert shifted < narrow < wide


def test_outliers_cost_more(capsys):
    types = ("i4 scale<f32, token>", "i8 scale<f32, token>")
    for plain, outliers in zip(
        errors_of(capsys, *types), errors_of(capsys, *types, data="outliers")
    ):
        assert outliers > 2 * plain


@pytest.mark.parametrize("scale", [
    "i8 scale<f32, tensor, static>", "i8 scale<f16, head, static>", "f8E5M2 scale<f32, head, static>",
    "i8 scale<f32, group = 32, static>", "i4 scale<f32, group = 32, static, zero_point>",
])  # fmt: skip
def test_static_scales_are_calibrated(capsys, scale):
    [static] = errors_of(capsys, scale)
    [token] = errors_of(capsys, f"{scale.split()[0]} scale<f32, token>")
    assert static < 2.5 * token


def test_calibrated_scales_hold_every_row():
    cache = kvc.CacheType(16, [
        kvc.Component("k", 2, 40, "i8"), kvc.Component("k.scale", 2, 2, "f32", "static"),
        kvc.Component("v", 2, 20, "i4x2"), kvc.Component("v.scale", 1, 1, "f32", "static"),
        kvc.Component("v.zero", 1, 1, "f32", "static"),
    ])  # fmt: skip
    view = kvc.Pool(cache, 1).view()
    rows = np.random.default_rng(1).standard_normal((9, 2, 40), np.float32)
    accuracy.calibrate(view, "k", rows)
    accuracy.calibrate(view, "v", rows)
    scale = view.memory("k.scale")
    for head, (group, part) in ((h, g) for h in (0, 1) for g in enumerate((slice(0, 32), slice(32, 40)))):
        largest = np.abs(rows[:, head, part]).max()
        assert scale[head, group] == pytest.approx(largest / 127)
    (v_scale,), (zero,) = view.memory("v.scale")[0], view.memory("v.zero")[0]
    assert -8 * v_scale + zero == pytest.approx(rows.min(), rel=1e-5)
    assert 7 * v_scale + zero == pytest.approx(rows.max(), rel=1e-5)


def test_bytes_of_a_token(capsys):
    caches = [
        "--cache=" + CACHE.format(*types) for types in (
            ("bf16", "bf16"), ("f32", "f8E4M3FN"), ("i8 scale<f32, token>", "i4 scale<f16, group = 32, zero_point>"),
            ("i8 scale<f32, head, static>", "i8 scale<f32, tensor, static = 0.02>"),
        )
    ]  # fmt: skip
    found = run_json(capsys, *caches)["caches"]
    assert [c["bytes_per_token"] for c in found] == [
        512, 2 * 64 * 5, 2 * (64 + 4) + 2 * (32 + 2 * 2 * 2), 256,
    ]  # fmt: skip
    assert found[0]["ratio_to_bf16"] == 1 and found[3]["ratio_to_bf16"] == 2


@pytest.mark.parametrize("target", ["cpu", "definition"])
def test_targets_agree(capsys, target):
    types = ("bf16", "i8 scale<f32, token>", "i4 scale<f16, group = 32, zero_point>")
    one = errors_of(capsys, *types)
    other = errors_of(capsys, *types, more=[f"--target={target}"])
    np.testing.assert_allclose(other, one, rtol=0.1)


# --- Reports --------------------------------------------------------------------


def test_the_default_run(capsys, tmp_path):
    out = run(capsys, "--data=outliers", "--seed=7", f"--plot={tmp_path / 'plot.svg'}")
    lines = out.splitlines()
    assert lines[0] == ("outliers, seed 7: 70 tokens, 2 KV heads, widths 64 and 64, 5 queries of 8 "
                        "heads, target definition")  # fmt: skip
    assert "without unit" in lines[1] and "nats" in lines[1]
    assert lines[3].split() == ["bytes", "bf16", "/", *["row", "error"] * 3, *["LSE", "error"] * 2]
    rows = lines[5:]
    assert len(rows) == len(accuracy.DEFAULT_CACHES) == 12
    assert len({re.match(r" *[\d,]+ +[\d.]+( +\d\.\d\de[+-]\d\d){5}  k: ", row).end() for row in rows}) == 1
    assert rows[0].split()[:2] == ["512", "1.00"]

    svg = xml.fromstring((tmp_path / "plot.svg").read_text())
    space = "{http://www.w3.org/2000/svg}"
    assert len(svg.findall(f"{space}circle")) == 12
    texts = [element.text for element in svg.iter(f"{space}text")]
    assert "bytes a token and layer, scales included" in texts
    assert "median relative L2 error of an output row" in texts
    assert " 6  k: i8 scale<f32, token>, v: i8 scale<f32, token>" in texts
    for circle in svg.findall(f"{space}circle"):
        assert 90 <= float(circle.get("cx")) <= 730 and 50 <= float(circle.get("cy")) <= 470


def test_json_says_all(capsys):
    cache = "--cache=" + CACHE.format("i8 scale<f32, token>", "bf16")
    found = run_json(capsys, "--seed=3", cache)
    assert found["data"] == "gaussian, seed 3" and found["seed"] == 3
    assert [found[key] for key in ("tokens", "kv_heads", "key_width", "value_width", "queries",
                                   "query_heads")] == [70, 2, 64, 64, 5, 8]  # fmt: skip
    assert set(found["caches"][0]) == {"cache", "bytes_per_token", "bytes_per_token_of_bf16",
                                       "ratio_to_bf16", "row_error", "lse_error"}  # fmt: skip
    assert run_json(capsys, "--seed=3", cache) == found
    assert run_json(capsys, "--seed=4", cache)["caches"] != found["caches"]


def test_ticks_and_labels_of_plots():
    svg = scatter_svg([Point(0, 1e-4, "a < b & c"), Point(1234, 0.5, "d")], "t", "x", "y")
    texts = [element.text for element in xml.fromstring(svg).iter() if element.text]
    assert " 1  a < b & c" in texts
    assert {"0", "200", "1,400", "0.0001", "1"} <= set(texts)
    for points in ([], [Point(1, 0, "")], [Point(-1, 1, "")], [Point(1, np.inf, "")]):
        with pytest.raises(ValueError, match="expected"):
            scatter_svg(points, "t", "x", "y")


# --- Files ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_keys_and_values_of_a_file(capsys, tmp_path, dtype):
    data = accuracy.make_data("outliers", 70, (2, 64, 2, 64), 8, 5, seed=2)
    arrays = {"k": data.keys, "v": data.values, "q": data.queries}
    path = tmp_path / "kv.npz"
    np.savez(path, **{name: array.astype(dtype) for name, array in arrays.items()})
    found = json.loads(run_file(capsys, path, "--cache=" + CACHE.format("f32", "f32")))
    assert found["query_heads"] == 8 and found["data"] == str(path)
    assert found["caches"][0]["row_error"]["worst"] < 1e-5
    if dtype == np.float32:  # the same as when it is made there
        cache = "--cache=" + CACHE.format("i8 scale<f32, token>", "bf16")
        made = run_json(capsys, "--data=outliers", "--seed=2", cache)
        assert json.loads(run_file(capsys, path, cache))["caches"] == made["caches"]


def run_file(capsys, path, *arguments):
    assert accuracy.main([f"--kv={path}", "--json", "--target=definition", *arguments]) == 0
    return capsys.readouterr().out


def test_queries_are_made_if_a_file_has_none(capsys, tmp_path):
    np.savez(tmp_path / "kv.npz", k=np.ones((3, 2, 8)), v=np.ones((3, 2, 16)))
    found = json.loads(run_file(
        capsys, tmp_path / "kv.npz", "--query-heads=6", "--queries=10",
        "--cache=!kvc.cache<page = 5, k: 2x8xf16, v: 2x16xf16>",
    ))  # fmt: skip
    assert (found["queries"], found["query_heads"], found["value_width"]) == (10, 6, 16)
    assert found["caches"][0]["row_error"]["worst"] < 1e-6


def refused(capsys, match, *arguments, status=1):
    try:
        assert accuracy.main([*arguments]) == status
    except SystemExit as error:  # argparse's
        assert error.code == status
    captured = capsys.readouterr()
    assert re.search(match, captured.err) and captured.out == ""
    assert "Traceback" not in captured.err


def test_wrong_files(capsys, tmp_path):
    path = tmp_path / "kv.npz"
    ones = np.ones((3, 2, 8))

    def file(match, *arguments, **arrays):
        np.savez(path, **arrays)
        refused(capsys, match, f"--kv={path}", *arguments)

    refused(capsys, "cannot read '/nowhere.npz'", "--kv=/nowhere.npz")
    (tmp_path / "text").write_text("no arrays")
    refused(capsys, "cannot read '.*text'", f"--kv={tmp_path / 'text'}")
    np.save(tmp_path / "one.npy", ones)
    refused(capsys, "expected a file of numpy.savez", f"--kv={tmp_path / 'one.npy'}")
    file("expected arrays k and v, got k, w", k=ones, w=ones)
    file("expected 'v' to be an array of floats with 3 dimensions .*, got float64 of shape \\(3, 2\\)",
         k=ones, v=ones[:, :, 0])  # fmt: skip
    file("expected 'k' to be an array of floats .*, got int64", k=ones.astype(np.int64), v=ones)
    file("expected 'k' to be an array of floats .* got float64 of shape \\(0, 2, 8\\)", k=ones[:0], v=ones[:0])
    file("expected numbers in 'v' that are finite", k=ones, v=ones * np.nan)
    file("expected numbers in 'v' that are finite in f32", k=ones, v=ones * 1e300)
    file("expected k and v of as many tokens and heads", k=ones, v=ones[1:])
    file("expected q and k of the same width, got 4 and 8", k=ones, v=ones, q=ones[:, :, :4])
    file("expected query heads \\(3\\) to be a multiple of KV heads \\(2\\)", "--query-heads=3", k=ones, v=ones)
    file("expected q of 4 heads, got 2", "--query-heads=4", k=ones, v=ones, q=ones)
    file("option --tokens has no meaning with --kv", "--tokens=3", k=ones, v=ones)
    file("expected --queries to be that of q .*\\(3\\), got 4", "--queries=4", k=ones, v=ones, q=ones)
    file("expected --cache of the data's shapes, k: 2x8 and v: 2x8, got 'page = 16, k: 2x64",
         "--cache=" + CACHE.format("f32", "f32"), k=ones, v=ones)  # fmt: skip


# --- The command line -------------------------------------------------------------


def test_wrong_caches(capsys):
    refused(capsys, "expected --cache of a page size and components k and v", "--cache=8x128xi8")
    refused(capsys, "cache 'page = 16, k: 1x8xi8, v: 1x8xf32': .*expected scale<...> of component 'k'",
            "--cache=page = 16, k: 1x8xi8, v: 1x8xf32")  # fmt: skip
    refused(capsys, "expected caches of one shape", "--cache=page = 16, k: 1x8xf32, v: 1x8xf32",
            "--cache=page = 16, k: 2x8xf32, v: 2x8xf32")  # fmt: skip
    refused(capsys, r"expected --kv-heads and --width as in --cache \(2 and 64\), got 3 and 64",
            "--cache=" + CACHE.format("f32", "f32"), "--kv-heads=3")  # fmt: skip
    refused(capsys, "No such file or directory: '/nowhere/plot.svg'", *SMALL,
            "--cache=" + CACHE.format("f32", "f32"), "--plot=/nowhere/plot.svg")  # fmt: skip


@pytest.mark.parametrize("arguments, message", [
    (["--tokens=0"], "--tokens: expected a number of at least 1, got '0'"),
    (["--seed=x"], "--seed: expected a number of at least 0, got 'x'"),
    (["--scale=inf"], "--scale: expected a finite number, got 'inf'"),
    (["--data=real"], "--data: invalid choice: 'real'"),
    (["--data=outliers", "--kv=x.npz"], "not allowed with"),
    (["more"], "unrecognized arguments: more"),
])  # fmt: skip
def test_wrong_command_lines(capsys, arguments, message):
    refused(capsys, re.escape(message), *arguments, status=2)


def command(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(Path(kvc.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-m", "kvc.accuracy", *arguments],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip


def test_the_command():
    shown = command("--help")
    assert shown.returncode == 0 and shown.stderr == ""
    for option in ("--cache", "--kv", "--data", "--seed", "--tokens", "--kv-heads", "--width",
                   "--query-heads", "--queries", "--scale", "--target", "--json", "--plot"):  # fmt: skip
        assert re.search(rf"^  {option}\b", shown.stdout, re.MULTILINE), option
    failed = command("--kv=/nowhere.npz")
    assert failed.returncode == 1 and failed.stdout == ""
    assert failed.stderr.startswith("kvc.accuracy: error: cannot read '/nowhere.npz'")


# --- The documentation ---------------------------------------------------------------


def test_the_table_of_the_documentation(capsys):
    """The bytes of docs/Accuracy.md are right, and its errors near what comes out here."""
    text = DOCS.read_text()
    blocks = re.findall(r"kvc\.accuracy --data=(\w+)\n(.*?)```", text, re.DOTALL)
    assert [data for data, _ in blocks] == ["gaussian", "outliers"]
    for data, block in blocks:
        shown = re.findall(r"^ *([\d,]+) +([\d.]+) +(\S+) .* (k: .*)$", block, re.MULTILINE)
        assert [label for *_, label in shown] == [
            cache.label for cache in accuracy.default_caches((8, 128, 8, 128))
        ]
        chosen = slice(2, None, 3)  # four of them
        caches = accuracy.default_caches((8, 128, 8, 128))[chosen]
        options = ["--tokens=512", "--queries=16", "--json", f"--data={data}"]
        assert accuracy.main([*options, *(f"--cache={cache.text}" for cache in caches)]) == 0
        found = json.loads(capsys.readouterr().out)["caches"]
        for (count, ratio, median, _), cache in zip(shown[chosen], found):
            assert int(count.replace(",", "")) == cache["bytes_per_token"]
            assert float(ratio) == round(cache["ratio_to_bf16"], 2)
            assert 0.3 < float(median) / cache["row_error"]["median"] < 3
