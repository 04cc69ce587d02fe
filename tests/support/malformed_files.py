"""Malformed pipeline files: mutants of valid files, and bytes that were never a pipeline file, from a seed.

    mutant = valid file + 1 to 3 faults       a fault breaks a character, a line, a value, a key or the structure

A mutant may be valid by chance: `malformed_files` makes no promise about a single file, only about how it was made.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator

_SOURCE = "source: {table: /events, event_time: happened_at, arrival_time: stored_at, source_partition: [site]}"
_AGGREGATES = "aggregates: {n: count(*), total: sum(v)}"
_UNITED = """
sources:
  - {name: doors, table: /doors, event_time: at, arrival_time: stored_at, watermark: {out_of_orderness: 5 s}}
  - name: lamps
    table: /lamps
    event_time: {column: ts, unit: ms}
    arrival_time: {column: seen, format: "yyyy-MM-dd HH:mm:ss", timezone: Europe/Berlin}
    watermark: {strategy: monotonous, idle_timeout: 1 hour}
"""

#: Valid files: each window kind, join, strategy, order and trigger, and every block of operation.
VALID_FILES = (
    (
        f"name: tumbling\n{_SOURCE}\nwatermark: {{out_of_orderness: 10 s}}\nwindows:\n  size: 1 hour\n  key: [site]\n"
        f"  allowed_lateness: 2 hours\n  {_AGGREGATES}\n"
    ),
    (
        f"name: sliding\n{_SOURCE}\nwindows: {{kind: sliding, size: 1 hour, slide: 15 minutes, key: [],"
        f" {_AGGREGATES}}}\nwatermark: {{out_of_orderness: 0s}}\n"
        "schedule: {cron: '@daily', start: 2024-01-01, catchup: false, slices: 4}\n"
    ),
    (
        f"name: sessions\n{_SOURCE}\nwindows: {{kind: session, gap: 30 minutes, key: [site], {_AGGREGATES}}}\n"
        "watermark: {strategy: time_lag, lag: 5 minutes, emit: {every: 1 minute, phase: 10 s}}\n"
    ),
    (
        f"name: marked\n{_SOURCE}\nwatermark: {{strategy: punctuated, when: is_mark, value: {{column: w, unit: us}}}}\n"
        f"windows: {{size: 1 day, offset: -8 hours, key: [site], accumulation: discarding, {_AGGREGATES}}}\n"
    ),
    (
        f"name: own_clock\n{_SOURCE}\nwatermark:\n  strategy: custom\n  class: company.clocks:Device\n"
        f"  arguments: {{rows: 40}}\nwindows: {{size: 1 hour, key: [site], {_AGGREGATES}}}\n"
    ),
    (
        "name: rounds\nsource: {table: /events, event_time: at, source_partition: [site], offset: place}\n"
        "replay: {order: offset, rows_per_round: 100, end_of_input: close}\n"
        "watermark: {out_of_orderness: 1 s, alignment: {max_drift: 10 s, update_interval: 1 s}}\n"
        f"windows: {{size: 1 hour, key: [site], {_AGGREGATES}}}\n"
    ),
    (
        f"name: early\n{_SOURCE}\nwatermark: {{strategy: monotonous, idle_timeout: 12 hours,"
        " emit: {every_n: 7}, placement: after_where}\n"
        f"windows: {{size: 1 hour, key: [site], trigger: {{continuous: 5 minutes}}, late_data: update,"
        f" {_AGGREGATES}}}\n"
    ),
    f"name: united\n{_UNITED}\nwatermark: {{emit: per_event}}\nwindows: {{size: 1 h, key: [room], {_AGGREGATES}}}\n",
    f"name: pairs\n{_UNITED}\njoin: {{key: [room], between: [-5 minutes, 5 minutes], exclusive: [upper]}}\n",
    (
        f"name: operated\n{_SOURCE}\nreplay: {{mode: complete}}\nwatermark: {{out_of_orderness: 1 h}}\n"
        f"windows: {{size: 1 hour, key: [site], {_AGGREGATES}}}\n"
        "quality:\n  on_failure: ask\n  max_late_ratio: learned\n  max_too_late_ratio: 0.01\n  min_coverage: 0.9\n"
        "  drift: {tolerance: 0.5, every: 7 days, seasons: 4, measures: {n: sum(n)}}\n  expectations:\n"
        "    - {type: expect_column_values_to_be_between, table: panes, column: total, min_value: 0}\n"
        "repair: {max_too_late_rows: 10, ask: true}\n"
    ),
)

_SCALARS = (
    *("", "~", "yes", "null", "true", "0", "-1", "1e999", ".inf", ".nan", "0x1F", "1_000", "010", "12:30:45"),
    *("'", '"', "[", "]", "{", "}", "[[]]", "{a: {b: {c: d}}}", "*a", "&a b", "!!int 3", "!!python/name:os.system x"),
    *("${", "${}", "${UNSET}", "${X:-${Y}}", "$${X}", "%YAML 1.9", "---", "...", "? a", "| ", "> x", "- - -", "#"),
    *('"\\ud800"', '"\\udfff tail"', '"\\U00110000"', '"\\UFFFFFFFF"', '"\\x00"', '"\\e[2J"', "\u202e", "\ufeff"),
    *("9" * 40, "9" * 5_000, "-" + "9" * 30 + " hours", "1 parsec", "PT", "P1M", "5", "1.5 ms", "+18:30", "é" * 300),
    *("a.b.c", "`x y`", "'a''b'", "x;drop table y", "../../etc/passwd", "http://x/y", "s3a://b/c", "class:path:x"),
)
_CHARACTERS = string.printable + "é漢😀\u0000\u0007\u001b\u0085\u00a0\u2028\ufeff"

Fault = Callable[[random.Random, str], str]


def malformed_files(seed: int, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the bytes of `number` files; the same for the same seed."""
    for position in range(number):
        drawn = random.Random(f"{seed}/{position}")
        faults = _BYTE_FAULTS if drawn.random() < 0.1 else ()
        valid = drawn.choice(VALID_FILES)
        text, names = valid, []
        for fault in drawn.choices(_FAULTS, k=drawn.randint(1, 3)):
            text = fault(drawn, text)
            names.append(fault.__name__.strip("_"))
        content = text.encode("utf-8", "surrogatepass")
        if faults:
            break_bytes = drawn.choice(faults)
            content = break_bytes(drawn, content)
            names.append(break_bytes.__name__.strip("_"))
        yield f"{seed}/{position} {' '.join(names)}", content


def _a_character_goes(drawn: random.Random, text: str) -> str:
    at = drawn.randrange(len(text) or 1)
    return text[:at] + text[at + 1 :]


def _characters_come(drawn: random.Random, text: str) -> str:
    at, added = drawn.randrange(len(text) + 1), "".join(drawn.choices(_CHARACTERS, k=drawn.randint(1, 4)))
    return text[:at] + added + text[at:]


def _it_ends_early(drawn: random.Random, text: str) -> str:
    return text[: drawn.randrange(len(text) + 1)]


def _a_line_comes_twice(drawn: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = drawn.randrange(len(lines))
    return "".join([*lines[: at + 1], *lines[at:]])


def _lines_change_places(drawn: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    drawn.shuffle(lines)
    return "".join(lines)


def _a_line_moves_right(drawn: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = drawn.randrange(len(lines))
    lines[at] = drawn.choice(("  ", "\t", " ")) + lines[at]
    return "".join(lines)


def _a_value_is_another(drawn: random.Random, text: str) -> str:
    parts = text.split(": ")
    if len(parts) < 2:
        return text
    at = drawn.randrange(1, len(parts))
    stops = [place for place in map(parts[at].find, (",", "}", "\n")) if place >= 0]
    parts[at] = drawn.choice(_SCALARS) + parts[at][min(stops, default=len(parts[at])) :]
    return ": ".join(parts)


def _a_key_is_misspelt(drawn: random.Random, text: str) -> str:
    colons = [place for place, letter in enumerate(text) if letter == ":"]
    if not colons:
        return text
    at = drawn.choice(colons)
    return text[: at - 1] + drawn.choice(("", "x", "_", "é", " ")) + text[at:]


def _a_block_comes(drawn: random.Random, text: str) -> str:
    return text + drawn.choice(
        (
            "name: again\n",
            "sources: []\n",
            "source: []\n",
            "join: {kind: none}\n",
            "windows: 5\n",
            "extra: {a: [1, 2, {b: c}]}\n",
            "evictor: {count: 3}\n",
            "schedule: '99 99 * * *'\n",
            "quality: {expectations: [{type: x}]}\n",
            "repair: {}\n",
            "".join(f"unknown_{drawn.random()}: 1\n" for _ in range(drawn.choice((3, 300, 4_000)))),
            "deep: " + "[" * drawn.choice((10, 60, 20_000)) + "\n",
            "deep: " + "{a: " * drawn.choice((10, 60, 20_000)) + "\n",
            "long: " + "x" * drawn.choice((1_000, 100_000, 200_000)) + "\n",
            "anchors: &a [1]\nmore: [*a, *a]\n",
        )
    )


def _a_byte_is_another(drawn: random.Random, content: bytes) -> bytes:
    if not content:
        return b"\xff"
    at = drawn.randrange(len(content))
    return content[:at] + bytes([drawn.randrange(256)]) + content[at + 1 :]


def _it_is_of_another_encoding(drawn: random.Random, content: bytes) -> bytes:
    return content.decode("utf-8", "replace").encode(drawn.choice(("utf-16", "utf-32", "utf-7")), "replace")


def _it_is_noise(drawn: random.Random, content: bytes) -> bytes:
    return drawn.randbytes(len(content))


_FAULTS: tuple[Fault, ...] = (
    _a_character_goes,
    _characters_come,
    _it_ends_early,
    _a_line_comes_twice,
    _lines_change_places,
    _a_line_moves_right,
    _a_value_is_another,
    _a_value_is_another,
    _a_key_is_misspelt,
    _a_block_comes,
)
_BYTE_FAULTS = (_a_byte_is_another, _it_is_of_another_encoding, _it_is_noise)
