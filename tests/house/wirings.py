"""Wirings: the modules that wire the engine, which ideally is one.

A stage is a function of `spark_jobs/replay` that turns rows into rows of another kind (`STAGES`). A module wires the
engine if it calls at least `FEWEST` different stages of other modules.

A call counts by the function's name, whatever its module is called. Methods of `self` and functions of the module
itself do not count. The names that mean little
alone, such as `panes`, count only as functions of an imported module. A module also wires the engine if it derives a
class from one of a module that does: it exchanges stages by overriding them.

The second measure has no list of names. It counts the modules outside `replay` that call at least `FEWEST_FRAMES`
different functions of `replay` with a DataFrame as result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.checkout import Checkout, Module, Place
from tests.house.syntax import definitions, imported

FEWEST = 4
FEWEST_FRAMES = 6
#: Stages by names that no other function of the project has.
STAGES = frozenset({
    "accepted", "by_timeline", "clean_panes", "components", "invalid_events", "late_events", "late_panes", "late_rows",
    "missed_watermarks", "on_time_pairs", "on_time_panes", "ranked", "rows_of", "scanned", "scanned_panes",
    "too_late_rows", "unclean", "with_epoch",
})  # fmt: skip
#: Stages that count only behind the name of an imported module, such as `triggers.panes`.
STAGES_OF_MODULES = frozenset({
    "advances", "among", "before", "behind", "between", "calendar", "census", "emissions", "firings", "judged", "panes",
    "retracted", "window_results",
})  # fmt: skip
_REPLAY = "spark_jobs.replay"


def wirings(house: Checkout) -> Iterator[Place]:
    """Yield each module that wires the engine, with the stages that it calls."""
    by_module = {module: sorted(_stages(module)) for module in house.product}
    wiring = {module.dotted for module, stages in by_module.items() if len(stages) >= FEWEST}
    for module, stages in by_module.items():
        derived = sorted(_derived(module, wiring))
        if module.dotted in wiring:
            yield Place(module.path, 1, f"calls {len(stages)} stages: {', '.join(stages)}")
        elif derived:
            yield Place(module.path, 1, f"derives from {', '.join(derived)}")


def _derived(module: Module, wiring: set[str]) -> set[str]:
    imports = imported(module)
    bases = {ast.unparse(base) for node in module.nodes if isinstance(node, ast.ClassDef) for base in node.bases}
    return {base for base in bases if imports.get(base, "").rpartition(".")[0] in wiring}


def _stages(module: Module) -> set[str]:
    imports = imported(module)
    own = {function.name for function in definitions(module) if not function.owner}
    called: set[str] = set()
    for node in module.nodes:
        match node:
            case ast.Call(ast.Name(name)) if name in imports and name in STAGES - own:
                called.add(name)
            case ast.Call(ast.Attribute(ast.Name(owner), name)) if owner in imports:
                called |= {name} & (STAGES | STAGES_OF_MODULES)
    return called


def callers_of_frames(house: Checkout) -> Iterator[Place]:
    """Yield each module outside replay that calls many of its functions which return a DataFrame."""
    frames = {
        f"{module.dotted}.{function.name}"
        for module in house.product
        if module.dotted.startswith(_REPLAY)
        for function in definitions(module)
        if not function.owner
        and function.node.returns is not None
        and "DataFrame" in ast.unparse(function.node.returns)
    }
    for module in house.product:
        called = sorted(_calls(module) & frames)
        if not module.dotted.startswith(_REPLAY) and len(called) >= FEWEST_FRAMES:
            names = ", ".join(name.removeprefix(f"{_REPLAY}.") for name in called)
            yield Place(module.path, 1, f"calls {len(called)} functions of replay: {names}")


def _calls(module: Module) -> set[str]:
    imports = imported(module)
    called: set[str] = set()
    for node in module.nodes:
        match node:
            case ast.Call(ast.Name(name)) if name in imports:
                called.add(imports[name])
            case ast.Call(ast.Attribute(ast.Name(owner), name)) if owner in imports:
                called.add(f"{imports[owner]}.{name}")
    return called
