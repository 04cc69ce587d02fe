"""An example of each command: what follows its name."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.job_protocol import Option, StepName

_FILE = "dags/pipelines/departures_by_carrier.yaml"

EXAMPLES: Mapping[str, str] = {
    StepName.LAND: "exports/orders lake/orders --option 'sep=;'",
    "init": "lake/flights flights.yaml",
    "check": _FILE,
    "test": "dags/pipelines/departures_by_carrier.test.yaml",
    "advise": f"{_FILE} --bounds 2h,4h,8h --lateness 0s,2h --target 99.9%",
    StepName.PLAN: f"{_FILE} {Option.FROM} 2013-07-01 {Option.TO} 2013-08-01",
    StepName.REPLAY: f"{_FILE} {Option.SET} 'windows.allowed_lateness=4 hours'",
    "status": _FILE,
    StepName.REPORT: _FILE,
    StepName.ACCEPT: f"{_FILE} --run r0123456789abcde {Option.BECAUSE} 'A.N.: the airport was closed'",
    "compare": f"{_FILE} --limit 5",
    StepName.ROLLBACK: f"{_FILE} --run r0123456789abcde",
    StepName.REPAIR: f"{_FILE} {Option.DRY_RUN}",
    StepName.MAINTAIN: f"{_FILE} --retain '14 days' --keep-runs 3 {Option.DRY_RUN}",
    "handover": f"{_FILE} --json",
    "setup": "--jars /media/usb/jars",
    "package": "tidemark.tar.gz",
    "new": "clickstream",
    "late": f"{_FILE} --by lateness --by window",
    "explain": f"{_FILE} --row 'flight_id = 120717'",
}
