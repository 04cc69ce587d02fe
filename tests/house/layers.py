"""Layers: imports for types alone that point to an upper layer, which the import contracts do not see.

The layers are those of the contracts of type `layers` in `pyproject.toml`, the topmost first. A place is an import
under `if TYPE_CHECKING:` in a module of a lower layer, of a module in an upper one.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator

from tests.house.checkout import Checkout, Place


def upward_imports(house: Checkout) -> Iterator[Place]:
    """Yield each import for types alone that points to an upper layer."""
    contracts = _contracts(house)
    for module in house.product:
        for node in module.nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                for name, line in _imports(node):
                    if any(_points_up(module.dotted, name, layers) for layers in contracts):
                        yield Place(module.path, line, f"imports {name} from an upper layer", module.package)


def _contracts(house: Checkout) -> list[list[set[str]]]:
    if "pyproject.toml" not in house.paths:
        return []
    settings = tomllib.loads(house.read("pyproject.toml")).get("tool", {}).get("importlinter", {})
    layered = [contract for contract in settings.get("contracts", []) if contract["type"] == "layers"]
    return [
        [_layer(names, prefix) for names in contract["layers"]]
        for contract in layered
        for prefix in contract.get("containers", [""])
    ]


def _layer(names: str, container: str) -> set[str]:
    parts = names.replace(":", "|").split("|")
    return {f"{container}.{part.strip(' ()')}".lstrip(".") for part in parts}


def _imports(node: ast.If) -> Iterator[tuple[str, int]]:
    for part in node.body:
        match part:
            case ast.ImportFrom(module=str(source)):
                yield source, part.lineno
            case ast.Import(aliases):
                yield from ((alias.name, part.lineno) for alias in aliases)


def _points_up(importer: str, target: str, layers: list[set[str]]) -> bool:
    from_layer, to_layer = _position(importer, layers), _position(target, layers)
    return from_layer is not None and to_layer is not None and to_layer < from_layer


def _position(module: str, layers: list[set[str]]) -> int | None:
    for position, names in enumerate(layers):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return position
    return None
