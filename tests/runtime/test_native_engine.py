"""The native engine is used where it can run, and a machine without it has a reason."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, driver_conf, native_engine

_AVX2 = "flags\t\t: fpu sse4_2 avx avx2 bmi1 bmi2 f16c fma abm movbe\n"


_OBSTACLE = native_engine.obstacle


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the processor's features, on Linux with a new glibc on x86-64."""
    cpu_info = tmp_path / "cpuinfo"
    cpu_info.write_text(f"processor\t: 0\n{_AVX2}\nprocessor\t: 1\n{_AVX2}", encoding="utf-8")
    monkeypatch.setattr(native_engine, "obstacle", _OBSTACLE)
    monkeypatch.setattr(native_engine, "_CPU_INFO", cpu_info)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(native_engine, "has_comet", lambda: True)
    return cpu_info


def uses_comet(engine: str | None, master: str = "local[*]") -> tuple[bool, list[str]]:
    """Return whether a driver uses Comet, and the lines that it reported."""
    lines: list[str] = []
    environ = {} if engine is None else {"TIDEMARK_ENGINE": engine}
    return native_engine.uses_comet(environ, master, lines.append), lines


@pytest.mark.parametrize("engine", [None, "", "auto", "comet"])
def test_a_local_driver_uses_comet_by_default(processor: Path, engine: str | None) -> None:
    assert uses_comet(engine) == (True, [])


def test_spark_is_used_without_a_message_where_it_is_set(processor: Path) -> None:
    assert uses_comet("spark") == (False, [])
    processor.unlink()
    assert uses_comet("spark") == (False, [])


@pytest.mark.parametrize(
    "master", ["spark://spark-master:7077", "yarn", "k8s://https://cluster", "local-cluster[2,1,1024]"]
)
def test_a_cluster_uses_comet_only_if_it_is_set(processor: Path, master: str) -> None:
    used, (line,) = uses_comet("auto", master)
    assert not used
    assert master in line
    assert uses_comet("comet", master) == (True, [])


def test_a_processor_without_the_instructions_is_a_reason(processor: Path) -> None:
    processor.write_text(_AVX2.replace(" avx2", "").replace(" fma", ""), encoding="utf-8")
    used, (line,) = uses_comet("auto")
    assert not used
    assert "this processor lacks avx2, fma" in line
    with pytest.raises(RuntimeSetupError, match=r"is 'comet', and .* lacks avx2, fma\. Set it to 'auto'"):
        uses_comet("comet")


def test_a_machine_that_hides_its_processor_runs_spark(processor: Path) -> None:
    processor.unlink()
    assert "lacks abm, avx" in (native_engine.obstacle() or "")


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_arm_has_features_of_other_names(processor: Path, monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    processor.write_text("processor\t: 0\nFeatures\t: fp asimd atomics fphp asimdhp lrcpc asimddp\n", encoding="utf-8")
    assert native_engine.obstacle() is None
    processor.write_text("Features\t: fp asimd\n", encoding="utf-8")
    assert "of level Neoverse N1" in (native_engine.obstacle() or "")


def test_other_systems_have_no_build(processor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert "needs glibc 2.30 or newer, and this system has another C library" in (native_engine.obstacle() or "")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.28"))
    assert "this system has glibc 2.28" in (native_engine.obstacle() or "")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "no build for" in (native_engine.obstacle() or "")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "no build for" in (native_engine.obstacle() or "")


def test_an_environment_without_the_jar_runs_spark(processor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_engine, "has_comet", lambda: False)
    used, (line,) = uses_comet("auto")
    assert not used
    assert "Comet's jar is not installed; to fetch it, run `make setup`" in line


def test_an_engine_of_another_name_is_refused(processor: Path) -> None:
    with pytest.raises(RuntimeSetupError, match=r"is 'photon', .* one of auto, comet, spark") as refused:
        uses_comet("photon")
    assert refused.value.code.value == "TM609"


@pytest.mark.parametrize(
    ("memory", "heap", "native"),
    [(None, "3072m", "1024m"), ("2g", "1536m", "512m"), ("1000m", "750m", "250m"), ("6GB", "4608m", "1536m")],
)
def test_a_quarter_of_the_memory_is_for_native_code(
    processor: Path, memory: str | None, heap: str, native: str
) -> None:
    environ = {} if memory is None else {"TIDEMARK_DRIVER_MEMORY": memory}
    settings = driver_conf(environ, "local[*]", print)
    assert settings["spark.driver.memory"] == heap
    assert settings["spark.driver.extraJavaOptions"].endswith(f"-Xms{heap}")
    assert settings["spark.memory.offHeap.size"] == native


@pytest.mark.parametrize("memory", ["much", "4 gigabytes", "-1g", "g"])
def test_memory_that_is_no_amount_is_refused(processor: Path, memory: str) -> None:
    with pytest.raises(RuntimeSetupError, match=f"TIDEMARK_DRIVER_MEMORY is '{memory}', which is no amount of memory"):
        driver_conf({"TIDEMARK_DRIVER_MEMORY": memory}, "local[*]", print)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cast(local_time || ' Asia/Almaty' AS  timestamp)", True),
        ("at::timestamp", True),
        ("coalesce(try_to_timestamp(at), seen)", True),
        ("timestamp (at)", True),
        ("cast(unbase64(body) as string)", True),
        ("UNHEX(code)", True),
        ("cast(key as string)", False),
        ("timestamp_millis(at)", False),
        ("unix_timestamp(at) > url_encode(x)", False),
        ("cast(at as timestamp_ntz)", False),
    ],
)
def test_casts_that_differ_by_engine_are_left_to_spark(expression: str, *, expected: bool) -> None:
    assert (native_engine.unlike_spark(expression) is not None) is expected
