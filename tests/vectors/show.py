"""Show recorded scenarios in the terminal, as drawings with Flink's answer (`spark_jobs.cases.drawing` explains them).

    python -m tests.vectors.show s101-15                     one scenario, or several
    python -m tests.vectors.show --list --kind session       the ids of the sessions, with what each is about
    python -m tests.vectors.show --list --feature idle --feature late

A feature is one of those that `--list` prints behind an id; a scenario is listed if it has all that are named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from spark_jobs.cases.drawing import write
from tests.vectors.recorded import paired
from tests.vectors.scenarios import HERE
from tests.worked import flink

#: Files of scenarios with the files of Flink's answers.
CORPORA = {
    "scenarios": ("scenarios.jsonl.gz", "flink_results.jsonl.gz"),
    "hard": ("hard_scenarios.jsonl.gz", "hard_flink_results.jsonl.gz"),
    "triggers": ("trigger_scenarios.jsonl.gz", "flink_trigger_results.jsonl.gz"),
    "as_of_joins": ("as_of_joins.jsonl.gz", "flink_as_of_joins.jsonl.gz"),
    "cogroups": ("cogroups.jsonl.gz", "flink_cogroups.jsonl.gz"),
    "subtasks": ("subtasks.jsonl.gz", "flink_subtasks.jsonl.gz"),
}


class Recording(NamedTuple):
    """A recorded scenario with its corpus and Flink's answer."""

    corpus: str
    declared: Mapping[str, Any]
    answer: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.declared["id"])

    @property
    def kind(self) -> str:
        """The kind of its windows, or of its join."""
        return flink.kind(self.declared)

    @property
    def features(self) -> list[str]:
        """What it is about, besides its kind."""
        declared, answer = self.declared, self.answer
        has = {
            "idle": "idle_timeout_ms" in declared,
            "late": any(answer.get(name) for name in ("late", "late_left", "late_right", "dropped")),
            "lateness": bool(declared.get("allowed_lateness_ms")),
            "discarding": declared.get("accumulation") == "discarding",
            "declared": declared.get("register") != "lazy",
            "negative": any(event["ts"] < 0 for event in declared["events"]),
            "two_sources": "join" in declared and not declared["join"].get("shared_source"),
            "until": "end_ms" in declared,
        }
        trigger = [declared["trigger"]["kind"]] if "trigger" in declared else []
        named = [declared["strategy"]["kind"], declared["emit"]["mode"], *trigger]
        return [self.corpus, *named, *(name for name, holds in has.items() if holds)]


def recordings() -> Iterator[Recording]:
    """Give every recorded scenario of this folder, and those of the worked examples."""
    for corpus, files in CORPORA.items():
        for declared, answer in paired(*(HERE / name for name in files)):
            yield Recording(corpus, declared, answer)
    for name, (declared, answer) in flink.answers().items():
        yield Recording("worked", {**declared, "id": name}, answer)


def chosen(kinds: list[str], features: list[str]) -> list[Recording]:
    """Give the scenarios of one of the kinds (none: of any) that have all features."""
    return [
        recording
        for recording in recordings()
        if (not kinds or recording.kind in kinds) and {*features} <= {*recording.features}
    ]


def text_of(recording: Recording) -> str:
    """Draw a scenario with Flink's answer."""
    return write(flink.drawn(recording.declared, recording.answer))


def main(arguments: list[str]) -> int:
    """Print what the command line names; return 1 for an id that no scenario has."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors.show", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("id", nargs="*", help="the id of a recorded scenario")
    parser.add_argument("--list", action="store_true", help="print ids, kinds and features, a line each")
    parser.add_argument("--kind", action="append", default=[], help="tumbling, session, interval join, as-of join, ...")
    parser.add_argument("--feature", action="append", default=[], help="a feature that --list prints")
    options = parser.parse_args(arguments)
    if not options.id and not options.list:
        parser.error("no id; name one or more, or --list")
    if options.list:
        return _list(chosen(options.kind, options.feature))
    return _show(options.id)


def _list(listed: list[Recording]) -> int:
    for recording in listed:
        rows = len(recording.declared["events"])
        sys.stdout.write(f"{recording.id}  {recording.kind}: {' '.join(recording.features)}, {rows} rows\n")
    return 0


def _show(ids: list[str]) -> int:
    by_id = {recording.id: recording for recording in recordings()}
    unknown = [name for name in ids if name not in by_id]
    for name in ids:
        if name in by_id:
            sys.stdout.write(text_of(by_id[name]) + "\n")
    if unknown:
        sys.stderr.write(f"no recorded scenario: {', '.join(unknown)}; --list prints the ids\n")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
