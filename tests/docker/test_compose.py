"""compose.yaml keeps the laws of an installation: all pinned and looked after, no password in it, nothing else open."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import spark_jobs
from tests.airflow.clone import PROJECT
from tests.docker.installation import COMPOSE, DOCKERFILE, FOLDER, Compose, Service, image_environment
from tests.support.compose_secrets import make_secrets
from tidemark_airflow.embedded.airflow import PARTS
from tidemark_airflow.embedded.installation import Installation

HERE = Compose({})
SERVICES = list(HERE.services.values())
LASTING = [service for service in SERVICES if not service.runs_once]
WORKERS = [service for service in SERVICES if "org.apache.spark.deploy.worker.Worker" in service.command]
OURS = [service for service in SERVICES if service.is_ours]
DIGEST = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
# What Docker Compose reads files with, by itself.
PARSER = "github.com/compose-spec/compose-go/v2/cmd@v2.9.0"
AIRFLOW = ("airflow-init", "api-server", "scheduler", "dag-processor", "triggerer")


def named(service: Service) -> str:
    return service.name


@pytest.mark.parametrize("service", SERVICES, ids=named)
def test_an_image_is_ours_or_pinned_by_its_content(service: Service) -> None:
    if service.is_ours:
        assert service.declaration["image"] == f"tidemark:{spark_jobs.__version__}"
        assert service.declaration["pull_policy"] == "never"
    else:
        assert DIGEST.fullmatch(service.declaration["image"])


def test_the_base_image_is_pinned_by_digest_and_has_the_python_of_the_project() -> None:
    (base,) = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert DIGEST.fullmatch(base)
    required_python = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "requires-python"
    ]
    assert required_python == ">=3.11,<3.14"
    assert base.startswith("python:3.11.")
    assert image_environment()["SPARK_HOME"].endswith("/lib/python3.11/site-packages/pyspark")


def test_the_image_is_made_of_locked_parts_and_nothing_else() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    installs = re.findall(r"(?:\$pip|/pip) install [^&]*", text)
    assert len(installs) == 3
    assert all("--no-deps" in install for install in installs)
    assert [("--require-hashes" in install, "--editable ." in install) for install in installs] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert not re.search(r"\b(apt-get|curl|wget|ADD|git)\b", text)


def test_no_folder_is_sent_to_the_builder_that_the_image_does_not_take() -> None:
    copy_lines = re.findall(r"^COPY (.+) \S+$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {path for line in copy_lines for path in line.split()}
    assert all((PROJECT / path).exists() for path in copied)
    assert {path for path in copied if not any(f"{path}/".startswith(f"{sent_path}/") for sent_path in sent)} == set()
    assert sent <= copied


@pytest.mark.parametrize("service", LASTING, ids=named)
def test_what_lasts_is_looked_after(service: Service) -> None:
    health = service.declaration["healthcheck"]
    assert health["test"][0] == "CMD"
    assert {"interval", "timeout", "retries", "start_period"} <= set(health)
    assert service.declaration["restart"] == "unless-stopped"
    assert re.fullmatch(r"\d+[mg]", service.declaration["deploy"]["resources"]["limits"]["memory"])
    assert service.declaration["logging"]["options"]["max-size"]
    assert "no-new-privileges:true" in service.declaration["security_opt"]
    assert service.declaration.get("init") or service.name == "postgres"


@pytest.mark.parametrize("service", OURS, ids=named)
def test_our_parts_have_no_rights_of_root(service: Service) -> None:
    assert service.declaration["cap_drop"] == ["ALL"]
    assert "user" not in service.declaration
    assert re.findall(r"^USER (\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE) == ["tidemark"]


@pytest.mark.parametrize("service", SERVICES, ids=named)
def test_no_service_has_a_capability_or_writes_outside_its_volumes(service: Service) -> None:
    assert service.declaration["cap_drop"] == ["ALL"]
    assert not {"cap_add", "privileged"} & set(service.declaration)
    assert service.declaration["read_only"] is True
    # Libraries of Java unpack native code into this folder.
    assert service.tmpfs["/tmp"] == ("exec" if service.is_ours else "")  # noqa: S108  # a path in the container


def test_no_service_runs_as_root() -> None:
    users = {service.name: service.declaration.get("user") for service in SERVICES if not service.is_ours}
    (uid,) = re.findall(r"useradd --uid (\d+) --gid tidemark", DOCKERFILE.read_text(encoding="utf-8"))
    assert users == {"postgres": "postgres", "objectstore": f"{uid}:{uid}"}
    # The folder of its socket.
    assert "/var/run/postgresql" in HERE.services["postgres"].tmpfs


def test_the_volume_of_the_object_store_gets_the_owner_of_the_image() -> None:
    (folder,) = HERE.services["objectstore"].volumes
    assert HERE.services["objectstore-folder"].volumes == {folder: "objects"}
    assert HERE.services["objectstore-folder"].command[-1] == f"{folder}/tidemark"
    assert HERE.services["objectstore"].command[-1].rstrip().endswith(f"versitygw posix {folder}")
    assert f" {folder} " in DOCKERFILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("service", SERVICES, ids=named)
def test_dependencies_of_a_service_exist_and_meet_its_condition(service: Service) -> None:
    for name, condition in service.needs.items():
        dependency = HERE.services[name]
        assert condition == ("service_completed_successfully" if dependency.runs_once else "service_healthy")
        assert set(dependency.networks) & set(service.networks) or dependency.runs_once


def test_the_services_can_be_started_one_behind_the_other() -> None:
    order = [service.name for service in HERE.in_order()]
    assert order.index("postgres") < order.index("airflow-init") < order.index("api-server") < order.index("scheduler")
    assert order.index("spark-master") < order.index("spark-worker-1") < order.index("scheduler")
    assert order.index("objectstore-folder") < order.index("objectstore") < order.index("api-server")


def test_volumes_networks_and_secrets_are_declared_and_each_is_used() -> None:
    volumes = {source for service in SERVICES for source in service.volumes.values() if "/" not in source}
    assert volumes == set(HERE.declaration["volumes"])
    assert {network for service in SERVICES for network in service.networks} == set(HERE.declaration["networks"])
    assert {secret for service in SERVICES for secret in service.secrets} == set(HERE.declaration["secrets"])


def test_only_this_machine_reaches_the_pages_unless_an_address_is_set() -> None:
    ports = {service.name: service.declaration["ports"] for service in SERVICES if "ports" in service.declaration}
    assert ports == {"api-server": ["127.0.0.1:8080:8080"], "spark-master": ["127.0.0.1:8081:8081"]}
    settings = {"TIDEMARK_AIRFLOW_ADDRESS": "0.0.0.0", "TIDEMARK_AIRFLOW_PORT": "9090"}  # noqa: S104  # only declared here
    other = Compose(settings).services["api-server"]
    assert other.declaration["ports"] == ["0.0.0.0:9090:8080"]
    assert other.environment["AIRFLOW__API__BASE_URL"] == "http://localhost:9090"
    assert {
        network for network, settings in HERE.declaration["networks"].items() if not (settings or {}).get("internal")
    } == {"outside"}
    assert {service.name for service in SERVICES if "outside" in service.networks} == set(ports)


def test_a_secret_is_a_file_that_make_secrets_makes_and_git_does_not_know(secrets_folder: Path) -> None:
    assert {secret["file"] for secret in HERE.declaration["secrets"].values()} == {
        f"secrets/{path.name}" for path in secrets_folder.iterdir()
    }
    assert "/docker/secrets/" in (PROJECT / ".gitignore").read_text(encoding="utf-8").splitlines()


_SECRET_NAME = re.compile(r"PASS|SECRET|_KEY|TOKEN|CONN|CREDENTIAL", re.IGNORECASE)


@pytest.mark.parametrize("service", SERVICES, ids=named)
def test_no_setting_is_a_secret(service: Service) -> None:
    names = [name for name in service.environment if _SECRET_NAME.search(name)]
    for name in names:
        value = service.environment[name]
        if name == "AIRFLOW_CONN_SPARK_DEFAULT":
            assert not {"login", "password"} & set(json.loads(value))
        elif name.endswith("_CMD"):
            secret = value.removeprefix("cat /run/secrets/")
            assert service.secrets[secret] == f"/run/secrets/{secret}"
        else:
            assert name in ("POSTGRES_PASSWORD_FILE", "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE")
    keys = (FOLDER / "with-keys").read_text(encoding="utf-8") if "with-keys" in " ".join(service.command) else ""
    for file in re.findall(r"/run/secrets/(\w+)", " ".join([*service.command, *service.environment.values(), keys])):
        assert file in service.secrets


@pytest.fixture(name="secrets_folder")
def _secrets_folder(tmp_path: Path) -> Path:
    """The folder that make-secrets has filled."""
    return make_secrets(tmp_path / "docker")


# What is otherwise in an installation for many: addresses, folders, and secrets that are files elsewhere.
OTHERWISE = {
    "API__BASE_URL",
    "API__HOST",
    "CORE__DAGS_FOLDER",
    "CORE__EXECUTION_API_SERVER_URL",
    "CORE__PLUGINS_FOLDER",
    "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE",
    "DATABASE__SQL_ALCHEMY_CONN",
    "LOGGING__BASE_LOG_FOLDER",
}
# The default lies in Airflow's home, which is read-only here.
ONLY_HERE = "AIRFLOW__LOGGING__DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY"


def test_airflow_is_set_as_the_embedded_one_is(tmp_path: Path) -> None:
    embedded = Installation(tmp_path, tmp_path / "home", 8080, "postgresql://u@h/d").variables({"PATH": "/bin"})
    embedded_settings = {name: value for name, value in embedded.items() if name.startswith("AIRFLOW__")}
    for name in AIRFLOW:
        environment = HERE.services[name].environment
        options = {name for name in environment if name.startswith("AIRFLOW__")}
        assert options == {*embedded_settings, ONLY_HERE}
        assert environment[ONLY_HERE].startswith(f"{environment['AIRFLOW__LOGGING__BASE_LOG_FOLDER']}/")
        for option, value in embedded_settings.items():
            short = option.removeprefix("AIRFLOW__")
            assert environment[option] == value or short in OTHERWISE or short.endswith("_CMD"), option


def test_the_parts_of_airflow_are_those_of_the_embedded_one() -> None:
    for part, command in PARTS.items():
        service_command = " ".join(HERE.services[part].command)
        assert service_command.endswith(" ".join(("airflow", *command)))


def variables_of_the_code() -> set[str]:
    """Return the variables of Tidemark that the code reads."""
    folders = [PROJECT / name for name in ("spark_jobs", "plugins", "dags")]
    texts = [file.read_text(encoding="utf-8") for folder in folders for file in folder.rglob("*.py")]
    return {name for text in texts for name in re.findall(r"\bTIDEMARK_[A-Z_]+\b", text)}


def test_every_variable_of_ours_is_one_that_the_code_knows() -> None:
    set_here = {name for service in SERVICES for name in service.environment} | set(image_environment())
    substitutions = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text(encoding="utf-8")))
    ours = {name for name in set_here | substitutions if name.startswith("TIDEMARK")}
    pool = {"TIDEMARK_POOL", "TIDEMARK_POOL_SLOTS"}
    airflow = {"TIDEMARK_AIRFLOW_ADDRESS", "TIDEMARK_AIRFLOW_PORT"}
    assert ours == {"TIDEMARK_DRIVER_MEMORY", "TIDEMARK_LAKE", *airflow, *pool}
    # The address is a matter of the compose file alone.
    assert ours - {"TIDEMARK_AIRFLOW_ADDRESS"} <= variables_of_the_code()


def test_what_a_health_check_looks_at_is_what_the_service_listens_on() -> None:
    for service in LASTING:
        addresses = re.findall(r"http://([\w.-]+):(\d+)", " ".join(service.healthcheck or []))
        for host, port in addresses:
            looked_at = service if host == "127.0.0.1" else HERE.services[host]
            words = [*looked_at.command, *looked_at.environment.values()]
            assert any(word in (port, f":{port}") for word in words), (service.name, port)


def test_drivers_executors_and_pages_share_the_lake_the_secret_and_the_names() -> None:
    scheduler, pages = HERE.services["scheduler"], HERE.services["api-server"]
    assert len(WORKERS) == 3
    settings = f"{image_environment()['SPARK_CONF_DIR']}/spark-defaults.conf"
    for service in (scheduler, HERE.services["spark-master"], *WORKERS):
        assert service.secrets["spark_defaults"] == settings
    for service in (scheduler, *WORKERS):
        assert service.volumes[service.environment["SPARK_LOCAL_DIRS"]].endswith("-scratch")
    for service in (scheduler, pages, *WORKERS):
        assert "s3_credentials" in service.secrets
        assert set(service.networks) & set(HERE.services["objectstore"].networks)
    for service in (scheduler, pages):
        assert service.environment["TIDEMARK_LAKE"] == "s3a://tidemark/lake"
        assert "/opt/tidemark/docker/with-keys airflow" in " ".join(service.command)
    assert scheduler.networks["spark"] == [scheduler.environment["SPARK_LOCAL_HOSTNAME"]]
    connection = json.loads(scheduler.environment["AIRFLOW_CONN_SPARK_DEFAULT"])
    master = f"{connection['host']}:{connection['port']}"
    assert connection["extra"] == {"deploy-mode": "client"}
    assert all(worker.command[-1] == master for worker in WORKERS)
    assert (
        {f"spark-worker-{number}" for number in (1, 2, 3)}
        == {worker.name for worker in WORKERS}
        <= set(scheduler.needs)
    )
    assert HERE.services["spark-master"].networks["spark"] == [connection["host"].removeprefix("spark://")]
    assert f"defaultCores={len(WORKERS)} " in HERE.services["spark-master"].environment["SPARK_MASTER_OPTS"]


def test_with_keys_passes_the_key_and_its_arguments_on(tmp_path: Path) -> None:
    text = (FOLDER / "with-keys").read_text(encoding="utf-8")
    script, key = tmp_path / "with-keys", tmp_path / "s3_credentials"
    script.write_text(text.replace("/run/secrets/s3_credentials", str(key)), encoding="utf-8")
    key.write_text("[default]\naws_access_key_id = some name\naws_secret_access_key = a/b+c=\n", encoding="utf-8")
    program = 'printf "%s|" "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" "$@"; exit 3'
    command = ["sh", str(script), "sh", "-c", program, "-", "two words"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.stdout, process.returncode) == ("some name|a/b+c=|two words|", 3)
    assert (FOLDER / "with-keys").stat().st_mode & 0o111 == 0o111


def test_the_heaps_that_may_run_at_once_fit_into_the_limits() -> None:
    scheduler, worker = HERE.services["scheduler"], HERE.services["spark-worker-1"]
    drivers = int(scheduler.environment["AIRFLOW__CORE__PARALLELISM"]) * gib(
        scheduler.environment["TIDEMARK_DRIVER_MEMORY"]
    )
    assert drivers * 1.5 <= gib(scheduler.declaration["deploy"]["resources"]["limits"]["memory"])
    worker_memory = gib(worker.command[worker.command.index("--memory") + 1])
    assert worker_memory % gib(scheduler.environment["SPARK_EXECUTOR_MEMORY"]) == 0
    assert worker_memory * 1.5 <= gib(worker.declaration["deploy"]["resources"]["limits"]["memory"])


def gib(text: str) -> int:
    assert text.endswith("g")
    return int(text[:-1])


def test_spark_finds_the_object_store_and_its_key() -> None:
    text = (FOLDER / "spark" / "core-site.xml").read_text(encoding="utf-8")
    settings = dict(re.findall(r"<name>(\S+)</name>\s*<value>(\S+)</value>", text))
    store = HERE.services["objectstore"]
    assert settings["fs.s3a.endpoint"] == f"http://objectstore{store.environment['VGW_PORT']}"
    assert settings["fs.s3a.endpoint.region"] == store.environment["VGW_REGION"]
    assert settings["fs.s3a.path.style.access"] == "true"
    for name in ("scheduler", "api-server"):
        environment = HERE.services[name].environment
        assert environment["AWS_ENDPOINT_URL"] == settings["fs.s3a.endpoint"]
        assert environment["AWS_REGION"] == settings["fs.s3a.endpoint.region"]
    assert settings["fs.s3a.auth.profile.file"] == HERE.services["scheduler"].secrets["s3_credentials"]
    assert len(settings) == text.count("<property>")
    assert not [name for name in settings if name.endswith((".access.key", ".secret.key"))]


def healthy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / "healthy.py"), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("key", "value", "code", "message"),
    [
        ("scheduler.status", "healthy", 0, ""),
        ("scheduler.status", "unhealthy", 1, "scheduler.status is 'healthy', not 'unhealthy'"),
        ("triggerer.status", "healthy", 1, "triggerer.status is None, not 'healthy'"),
        ("dag_processor.status", "healthy", 1, "KeyError('dag_processor')"),
        ("scheduler.status.more", "healthy", 1, "TypeError"),
    ],
)
def test_a_service_is_healthy_if_its_answer_has_the_value(
    key: str, value: str, code: int, message: str, tmp_path: Path
) -> None:
    answer: dict[str, Any] = {"scheduler": {"status": "healthy"}, "triggerer": {"status": None}}
    (tmp_path / "health").write_text(json.dumps(answer), encoding="utf-8")
    process = healthy((tmp_path / "health").as_uri(), key, value)
    assert process.returncode == code
    assert message in process.stderr
    assert "Traceback" not in process.stderr


def test_a_service_that_does_not_answer_is_not_healthy(tmp_path: Path) -> None:
    process = healthy((tmp_path / "nothing").as_uri(), "status", "ALIVE")
    assert process.returncode == 1
    assert "Traceback" not in process.stderr


def parsed(*command: str) -> dict[str, Any]:
    """Return compose.yaml as another parser reads it."""
    process = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    document: dict[str, Any] = json.loads(process.stdout)
    return document


def assert_read_as_here(document: Mapping[str, Any]) -> None:
    assert set(document["services"]) == set(HERE.services)
    for name, declaration in document["services"].items():
        service = HERE.services[name]
        # Docker Compose gives a dollar out as it wants to read it.
        command = [
            word.replace("$$", "$")
            for word in [*(declaration.get("entrypoint") or []), *(declaration.get("command") or [])]
        ]
        assert command == service.command, name
        assert declaration.get("environment", {}) == service.environment, name
        assert {secret["source"]: secret["target"] for secret in declaration.get("secrets", [])} == service.secrets, (
            name
        )
        assert {volume["target"] for volume in declaration.get("volumes", [])} == set(service.volumes), name


def test_docker_compose_reads_the_file_as_these_tests_do() -> None:
    own = next((c for c in (["docker-compose"], ["docker", "compose"]) if is_available(*c, "version")), None)
    if own is None:
        pytest.skip("Docker Compose is not here")
    assert_read_as_here(parsed(*own, "--file", str(COMPOSE), "config", "--format", "json"))


@pytest.mark.soak
def test_the_parser_of_docker_compose_reads_the_file_as_these_tests_do(tmp_path: Path) -> None:
    if not is_available("go", "version"):
        pytest.skip("Go, which brings the parser, is not here")
    parser = ["go", "run", PARSER, "-format", "json", "-no-path-resolution"]
    assert_read_as_here(parsed(*parser, str(COMPOSE)))
    broken = tmp_path / "compose.yaml"
    broken.write_text(COMPOSE.read_text(encoding="utf-8").replace("retries: 5", "retry: 5"), encoding="utf-8")
    with pytest.raises(AssertionError, match="'retry' not allowed"):
        parsed(*parser, str(broken))


def is_available(*command: str) -> bool:
    """Return whether a program is installed and runs this command."""
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True, check=False).returncode == 0
