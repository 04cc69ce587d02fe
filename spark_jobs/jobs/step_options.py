"""The options of the program `step.py`."""

from __future__ import annotations

import argparse

from spark_jobs.job_protocol import AFTER_PLAN, Option, StepName
from spark_jobs.jobs.options import add_exchange

_STEPS = (
    *(StepName.PLAN, StepName.REPLAY, StepName.AUDIT, StepName.PUBLISH, StepName.REPORT),
    *(StepName.WATERMARKS, StepName.SLICE, StepName.RUN, StepName.REPAIR, StepName.INTERVALS, StepName.MAINTAIN),
)


def step_parser(description: str) -> argparse.ArgumentParser:
    """Return the parser of the program's options."""
    parser = argparse.ArgumentParser(prog="step.py", description=description)
    parser.add_argument("step", choices=[str(name) for name in _STEPS])
    parser.add_argument("pipeline", help="the pipeline file")
    parser.add_argument(Option.RUN_ID, help="the planned run; for every step but plan, run and repair")
    parser.add_argument(Option.THEN, type=_steps_behind, default=(), metavar="STEP,...", help="steps to take behind it")
    parser.add_argument(
        Option.WITHOUT_SPARK, action="store_true", help="for plan: start no Spark, even if it is needed"
    )
    parser.add_argument(Option.BECAUSE, help="for publish: the reason to publish a run that its checks have blocked")
    parser.add_argument(Option.FROM, dest="start", help="start of the first window, ISO 8601")
    parser.add_argument(Option.TO, dest="end", help="end of the last window, ISO 8601")
    parser.add_argument(Option.ARRIVED_TO, help="read what arrived before this time, ISO 8601")
    parser.add_argument(Option.RESTATE, action="store_true", help="replace results of other settings of the pipeline")
    parser.add_argument(Option.CHANGED, action="store_true", help="compute only what changes of the source affect")
    parser.add_argument(Option.DRY_RUN, action="store_true", help="for plan and repair: show it, and change nothing")
    parser.add_argument(Option.SLICES, type=int, default=1, help="how many stretches of windows to write one by one")
    parser.add_argument(Option.SLICE, default="", help="for slice: one of the names that the step watermarks returned")
    parser.add_argument(Option.EVERY, default="", help="for intervals: the length of an interval, such as '1 day'")
    parser.add_argument(Option.NEWEST_FIRST, action="store_true", help="for intervals: the newest first")
    parser.add_argument(Option.ONLY_MISSING, action="store_true", help="for intervals: leave out published ones")
    parser.add_argument(Option.WAIT, default="0s", help="how long to wait for another process on the same windows")
    parser.add_argument(Option.SET, action="append", default=[], metavar="KEY=VALUE", help="override a setting")
    add_exchange(parser)
    return parser


def _steps_behind(text: str) -> list[StepName]:
    """Parse `audit,publish,report`."""
    names = text.split(",")
    if unknown := [name for name in names if name not in AFTER_PLAN]:
        raise argparse.ArgumentTypeError(f"found {', '.join(unknown)}, expected {', '.join(AFTER_PLAN)}")
    return [StepName(name) for name in names]
