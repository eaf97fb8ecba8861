"""Sums the result files of several test runners into one closing line.

Each suite comes as `--suite NAME FORMAT FILE STATUS SECONDS`: FORMAT is `lit`
(what lit's --output writes) or `junit` (GoogleTest's XML, pytest's --junitxml),
STATUS is the runner's exit status. Prints each skipped test with its reason,
each failed test, a line per suite, and last `N passed, N failed, N skipped`.
Ends with status 0 only if no test failed and at least one passed.
"""

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

# Why a test that names a feature of test/lit.cfg.py was left out.
MISSING_FEATURES = {
    "amx": "not on this processor",
    "avx2": "not on this processor",
    "avx512": "not on this processor",
    "avx512_bf16": "not on this processor",
    "compiler": "not built",
    "cuda": "no device found",
    "full": "runs with --full only",
    "ptxas": "not installed",
}

LIT_MISSING = "Test requires the following unavailable features: "

# pytest's exit status when it found no test.
PYTEST_NO_TESTS = 5


@dataclass
class Suite:
    """The outcome of one runner."""

    name: str
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)  # pairs of name and reason


def lit_skip_reason(output):
    """Returns why lit left a test out, from its words for it."""
    if output.startswith(LIT_MISSING):
        names = output[len(LIT_MISSING) :].split(", ")
        return ", ".join(f"{name} ({MISSING_FEATURES.get(name, 'missing')})" for name in names)
    if output == "Test is unsupported":
        return "switched off here by its folder's lit.local.cfg"
    return " ".join(output.split()) or "no reason given"


def read_lit(suite, path):
    """Adds the tests in a file that lit wrote to `suite`."""
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    for test in tests:
        name, code = test["name"].partition(" :: ")[2] or test["name"], test["code"]
        if code in ("PASS", "FLAKYPASS"):
            suite.passed += 1
        elif code == "UNSUPPORTED":
            suite.skipped.append((name, lit_skip_reason(test["output"])))
        elif code == "XFAIL":
            suite.skipped.append((name, "expected to fail, and does"))
        else:
            suite.failed.append(f"{name} ({code.lower()})")


def junit_skip_reason(element):
    """Returns why a test was left out, without the place that GoogleTest names."""
    reason = " ".join((element.get("message") or "").split())
    reason = re.sub(r"^\S+:\d+ ", "", reason)
    if element.get("type") == "pytest.xfail":
        return "expected to fail, and does" + (f": {reason}" if reason else "")
    return reason or "no reason given"


def read_junit(suite, path):
    """Adds the tests in a file of JUnit's XML format to `suite`."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            suite.failed.append(name)
        elif skipped is not None:
            suite.skipped.append((name, junit_skip_reason(skipped)))
        elif case.get("status") == "notrun":
            suite.skipped.append((name, "disabled in its source"))
        else:
            suite.passed += 1


READERS = {"lit": read_lit, "junit": read_junit}


def read_suite(name, format_name, path, status):
    """Returns what one runner did; a runner that broke counts as a failure."""
    suite = Suite(name)
    try:
        READERS[format_name](suite, path)
    except (OSError, ValueError, KeyError, ElementTree.ParseError):
        return Suite(name, failed=[f"ended with status {status} and without results"])
    ran_none = suite.passed == 0 and not suite.skipped
    if status == PYTEST_NO_TESTS and name == "pytest" and ran_none:
        return suite
    if status != 0 and not suite.failed:
        suite.failed.append(f"ended with status {status}, though no test failed")
    return suite


def count_line(passed, failed, skipped):
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--suite",
        nargs=5,
        action="append",
        default=[],
        metavar=("NAME", "FORMAT", "FILE", "STATUS", "SECONDS"),
    )
    options = parser.parse_args()
    suites, times = [], []
    for name, format_name, path, status, seconds in options.suite:
        suites.append(read_suite(name, format_name, path, int(status)))
        times.append(seconds)

    for suite in suites:
        for test, reason in suite.skipped:
            print(f"skipped: {suite.name}: {test}: {reason}")
    for suite in suites:
        for test in suite.failed:
            print(f"failed: {suite.name}: {test}")
    for suite, seconds in zip(suites, times):
        counts = count_line(suite.passed, len(suite.failed), len(suite.skipped))
        print(f"{suite.name}: {counts} in {seconds} s")

    passed = sum(suite.passed for suite in suites)
    failed = sum(len(suite.failed) for suite in suites)
    if passed == 0 and failed == 0:
        print("no test ran")
    print(count_line(passed, failed, sum(len(suite.skipped) for suite in suites)))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
