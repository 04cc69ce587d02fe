"""The installation as its files declare it: compose.yaml with its variables filled in, and what the image sets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "docker"
COMPOSE = FOLDER / "compose.yaml"
DOCKERFILE = FOLDER / "Dockerfile"

_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True)
class Service:
    """A service of compose.yaml."""

    name: str
    declaration: Mapping[str, Any]

    @property
    def is_ours(self) -> bool:
        """Whether it runs in the image of docker/Dockerfile."""
        return str(self.declaration["image"]).startswith("tidemark:")

    @property
    def runs_once(self) -> bool:
        """Whether it ends by itself."""
        return bool(self.declaration["restart"] == "no")

    @property
    def environment(self) -> dict[str, str]:
        """What compose.yaml sets in it."""
        return dict(self.declaration.get("environment", {}))

    @property
    def command(self) -> list[str]:
        """What runs in it."""
        return [*self.declaration.get("entrypoint", []), *self.declaration.get("command", [])]

    @property
    def healthcheck(self) -> list[str] | None:
        """The command that checks whether it is healthy."""
        test = self.declaration.get("healthcheck", {}).get("test")
        return None if test is None else list(test[1:])

    @property
    def needs(self) -> dict[str, str]:
        """The condition that each service has to meet before this one starts."""
        return {name: dependency["condition"] for name, dependency in self.declaration.get("depends_on", {}).items()}

    @property
    def secrets(self) -> dict[str, str]:
        """Where it finds each secret."""
        secrets = [
            {"source": secret} if isinstance(secret, str) else secret for secret in self.declaration.get("secrets", [])
        ]
        return {secret["source"]: secret.get("target", f"/run/secrets/{secret['source']}") for secret in secrets}

    @property
    def volumes(self) -> dict[str, str]:
        """Which volume or folder of the host lies where."""
        return {
            target: source
            for source, target, *_ in (volume.split(":") for volume in self.declaration.get("volumes", []))
        }

    @property
    def tmpfs(self) -> dict[str, str]:
        """Which folders it has in memory, with their options."""
        parts = (folder.partition(":") for folder in self.declaration.get("tmpfs", []))
        return {path: options for path, _, options in parts}

    @property
    def networks(self) -> dict[str, list[str]]:
        """The networks that it is on, and its names on each beside its own."""
        networks = self.declaration["networks"]
        named = dict.fromkeys(networks) if isinstance(networks, list) else networks
        return {network: (settings or {}).get("aliases", []) for network, settings in named.items()}


@dataclass(frozen=True)
class Compose:
    """compose.yaml, with these variables in place of the shell's."""

    variables: Mapping[str, str]

    @cached_property
    def declaration(self) -> dict[str, Any]:
        """The document with the variables filled in."""
        document: dict[str, Any] = _filled(yaml.safe_load(COMPOSE.read_text(encoding="utf-8")), self.variables)
        return document

    @cached_property
    def services(self) -> dict[str, Service]:
        """Its services by name."""
        return {name: Service(name, declaration) for name, declaration in self.declaration["services"].items()}

    def in_order(self) -> list[Service]:
        """The services, each behind those that it needs."""
        placed: dict[str, Service] = {}
        while len(placed) < len(self.services):
            ready = [s for s in self.services.values() if s.name not in placed and set(s.needs) <= set(placed)]
            assert ready, f"these wait for each other: {set(self.services) - set(placed)}"
            placed |= {service.name: service for service in ready}
        return list(placed.values())


def image_environment() -> dict[str, str]:
    """The variables that the image sets, by its Dockerfile."""
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.removeprefix("ENV ") for line in text.splitlines() if line.startswith("ENV ")]
    pairs = [pair.partition("=") for line in lines for pair in shlex.split(line)]
    return {name: value for name, _, value in pairs}


def _filled(node: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _filled(value, variables) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, variables) for value in node]
    return _VARIABLE.sub(lambda match: _value(match, variables), node) if isinstance(node, str) else node


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match[0] == "$$":
        return "$"
    return variables.get(match["name"]) or match["default"] or ""
