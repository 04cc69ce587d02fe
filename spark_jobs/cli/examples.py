"""An example of each command, without its program."""

from __future__ import annotations

from collections.abc import Mapping

_FILE = "dags/pipelines/departures_by_carrier.yaml"

EXAMPLES: Mapping[str, str] = {
    "init": "init lake/flights flights.yaml",
    "check": f"check {_FILE}",
    "advise": f"advise {_FILE} --bounds 2h,4h,8h --lateness 0s,2h --target 99.9%",
    "plan": f"plan {_FILE} --from 2013-07-01 --to 2013-08-01",
    "replay": f"replay {_FILE} --set 'windows.allowed_lateness=4 hours'",
    "status": f"status {_FILE}",
    "report": f"report {_FILE}",
    "accept": f"accept {_FILE} --run r0123456789abcde --because 'A.N.: the airport was closed'",
    "compare": f"compare {_FILE} --limit 5",
    "rollback": f"rollback {_FILE} --run r0123456789abcde",
    "repair": f"repair {_FILE} --dry-run",
    "maintain": f"maintain {_FILE} --retain '14 days' --keep-runs 3 --dry-run",
    "handover": f"handover {_FILE} --json",
}
