"""Sittings on a small working tree with real pytest processes: what is cut off goes on, and nothing runs twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.proofs.record import Entry, Record
from tests.proofs.sitting import COMMITTED_FILE

ROOT = Path(__file__).parents[2]
CASES = 12
# Without the plugins of all packages pytest starts in half the time.
_QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist.plugin"}
TOY = """
import os
import time
from pathlib import Path
import pytest

HERE = Path(__file__).parent

@pytest.mark.soak
@pytest.mark.parametrize("number", range({cases}))
def test_case(number):
    time.sleep({seconds})
    assert not (HERE / f"fail-{{number}}.log").exists()
    with (HERE / "ran.log").open("a") as file:
        file.write(f"{{number}}\\n")
    (HERE / "java.log").write_text(os.environ.get("_JAVA_OPTIONS", ""))

def test_quick():
    raise AssertionError("no case of a proof")
"""
CATALOGUE = """
from tests.proofs.proof import Proof

PROOFS = (
    Proof("pairs", "", "", ("pairs/test_*.py",), ("pairs/**",), 1.0, optimizes_java=True),
    Proof("alone", "", "", ("alone/test_*.py",), ("alone/**",), 1.0, runs_alone=True),
    Proof("long", "", "", ("long/test_*.py",), ("long/**",), 3600.0, runs_alone=True, optimizes_java=True),
)
"""


@dataclass(frozen=True)
class Toy:
    """A working tree with two proofs."""

    root: Path

    def start(self, *options: str, command: str = "run") -> subprocess.Popen[str]:
        tree = ("--root", str(self.root), "--catalogue", "catalogue")
        return subprocess.Popen(
            [sys.executable, "-m", "tests.proofs", command, *tree, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{self.root}", **_QUICK},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str, command: str = "run") -> tuple[int, str]:
        process = self.start(*options, command=command)
        text, _ = process.communicate(timeout=120)
        return process.returncode, text

    def entries(self) -> list[Entry]:
        return Record(self.root / ".proofs" / "record.jsonl").entries()

    def ran(self, proof: str) -> Counter[str]:
        file = self.root / proof / "ran.log"
        return Counter(file.read_text(encoding="utf-8").split()) if file.exists() else Counter()

    def java_options(self, proof: str) -> str:
        return (self.root / proof / "java.log").read_text(encoding="utf-8")

    def write(self, seconds: float) -> None:
        text = TOY.format(cases=CASES, seconds=seconds)
        for proof in ("pairs", "alone", "long"):
            (self.root / proof).mkdir(exist_ok=True)
            (self.root / proof / f"test_{proof}.py").write_text(text, encoding="utf-8")


@pytest.fixture(name="toy")
def _toy(tmp_path: Path) -> Toy:
    subprocess.run([str(shutil.which("git")), "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "catalogue.py").write_text(CATALOGUE, encoding="utf-8")
    (tmp_path / ".gitignore").write_text("__pycache__/\n*.log\n.proofs/\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = soak\n", encoding="utf-8")
    toy = Toy(tmp_path)
    toy.write(0.01)
    return toy


ONCE = Counter({str(number): 1 for number in range(CASES)})


@pytest.mark.parametrize("proof", ["pairs", "alone"])
def test_a_sitting_that_is_killed_goes_on_where_it_ended(toy: Toy, proof: str) -> None:
    toy.write(0.3)
    process = toy.start("--proof", proof)
    deadline = time.monotonic() + 60
    while len(toy.entries()) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = toy.entries()
    assert 3 <= len(before) < CASES
    code, text = toy.run("--proof", proof)
    assert code == 0, text
    assert toy.entries()[: len(before)] == before
    assert Counter(entry.case for entry in toy.entries()) == {
        f"{proof}/test_{proof}.py::test_case[{n}]": 1 for n in ONCE
    }
    assert all(toy.ran(proof)[entry.case.rpartition("[")[2].rstrip("]")] == 1 for entry in before)


def test_shards_one_after_the_other_run_each_case_once_and_then_nothing_is_left(toy: Toy) -> None:
    names = ("--proof", "pairs,alone")
    toy.run(*names, "--shard", "2/2")
    assert 0 < len(toy.entries()) < 2 * CASES
    code, text = toy.run(*names, "--shard", "1/2")
    assert code == 0, text
    assert toy.ran("pairs") == toy.ran("alone") == ONCE
    assert text.splitlines()[-1].split()[:5] == ["all", "24", "24", "0", "0"]
    began = time.monotonic()
    code, text = toy.run(*names)
    assert (code, toy.ran("pairs"), "pytest" in text) == (0, ONCE, False)
    assert time.monotonic() - began < 20


def test_java_optimizes_one_proof_and_not_the_other(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_JAVA_OPTIONS", raising=False)
    toy.run("--proof", "pairs")
    toy.run("--proof", "alone")
    assert "-XX:TieredStopAtLevel=4" in toy.java_options("pairs")
    assert toy.java_options("alone") == ""


def test_java_is_as_usual_for_a_shard_with_a_proof_that_needs_it(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_JAVA_OPTIONS", raising=False)
    toy.run("--proof", "alone,long", "--shard", "1/1")
    assert toy.java_options("alone") == ""


def test_java_options_of_the_user_stay(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xss4m")
    toy.run("--proof", "pairs")
    assert toy.java_options("pairs") == "-Xss4m"


def test_a_case_that_fails_is_failing_until_it_passes(toy: Toy) -> None:
    switch = toy.root / "alone" / "fail-3.log"
    switch.touch()
    code, text = toy.run("--proof", "alone")
    assert code == 1
    assert "failing: alone: alone/test_alone.py::test_case[3]" in text
    switch.unlink()
    code, text = toy.run("--proof", "alone")
    assert (code, "failing: " in text) == (0, False)
    assert toy.ran("alone") == ONCE


def test_code_that_changes_is_proved_again_and_a_comment_is_not(toy: Toy) -> None:
    toy.run("--proof", "alone")
    test = toy.root / "alone" / "test_alone.py"
    test.write_text(test.read_text(encoding="utf-8") + "# the end\n", encoding="utf-8")
    toy.run("--proof", "alone")
    assert toy.ran("alone") == ONCE
    toy.write(0.02)
    toy.run("--proof", "alone")
    assert toy.ran("alone") == ONCE + ONCE


def test_code_that_changes_while_a_case_runs_leaves_it_not_proved(toy: Toy) -> None:
    toy.write(0.3)
    process = toy.start("--proof", "alone")
    deadline = time.monotonic() + 60
    while not toy.entries() and time.monotonic() < deadline:
        time.sleep(0.05)
    toy.write(0.01)
    process.communicate(timeout=60)
    proved = {entry.case for entry in toy.entries() if entry.content}
    assert 0 < len(proved) < CASES
    assert len({entry.case for entry in toy.entries()}) == CASES


def test_no_case_starts_that_would_end_after_the_limit(toy: Toy) -> None:
    code, text = toy.run("--proof", "long", "--minutes", "0")
    assert (code, toy.entries()) == (0, []), text
    # The first case may start whatever its expected duration; the next one is expected to take an hour.
    code, text = toy.run("--proof", "long", "--minutes", "3")
    assert (code, len(toy.entries())) == (0, 1), text
    assert text.splitlines()[-1].split()[:5] == ["long", "12", "1", "0", "11"]


def test_a_new_clone_goes_on_from_what_is_committed(toy: Toy) -> None:
    file = toy.root / COMMITTED_FILE
    file.parent.mkdir(parents=True)
    toy.run("--proof", "pairs")
    (toy.root / "alone" / "fail-3.log").touch()
    toy.run("--proof", "alone")
    assert toy.run("--proof", "pairs", command="keep")[0] == 0
    code, text = toy.run("--proof", "alone", command="keep")
    assert (code, text.split()[0]) == (0, str(CASES - 1)), text
    committed = Record(file).entries()
    assert Counter(entry.proof for entry in committed) == {"pairs": CASES, "alone": CASES - 1}
    shutil.rmtree(toy.root / ".proofs")
    (toy.root / "alone" / "fail-3.log").unlink()
    code, text = toy.run("--proof", "pairs,alone")
    assert code == 0, text
    assert [entry.case for entry in toy.entries()] == ["alone/test_alone.py::test_case[3]"]
    assert toy.ran("pairs") == toy.ran("alone") == ONCE


@pytest.mark.parametrize(
    "options", [("--proof", "nothing"), ("--shard", "4/3"), ("--shard", "0/3"), ("--sample", "half")]
)
def test_an_option_that_names_nothing_is_refused(toy: Toy, options: tuple[str, str]) -> None:
    code, text = toy.run(*options)
    assert code == 2, text
    assert "Traceback" not in text
