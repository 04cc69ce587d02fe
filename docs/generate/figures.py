"""The page of the figures: what Spark measures of a step, and the metrics that Airflow sends of it."""

from __future__ import annotations

from docs.generate.markdown import anchor, block, code, sentence, table
from spark_jobs.figures import FIGURES, Figure

_INTRODUCTION = """\
When a step of a run ends, Spark's own status is read. It shows how much the step read and wrote, how its tasks ran, and
how much of the work was native. Nothing polls while a step works.

A step that ran without Spark has no figures, such as a plan that delta-rs makes. The same holds for a step that was
done before.

## Where to find them

| where | which steps |
|---|---|
| column `figures` of the table [`runs`](tables.md#runs) | plan, replay, audit, publish |
| report of a run, section *Spark* | the same |
| page of a run in Airflow's *Data quality* | the same |
| `tidemark status FILE --run RUN`; with `--json` under `runs` and `steps` | the same |
| `tidemark replay FILE --json`, under `steps` | also report |
| result of a task in Airflow's XCom, and its key `figures` | also watermarks, slice, report |
| Airflow's metrics | also watermarks, slice, report |

## Figures
"""
_METRICS = """\
## Metrics of Airflow

A task sends the figures of its step as gauges if Airflow's own metrics are on. The settings are `statsd_on`,
`statsd_datadog_enabled` and `otel_on` in the section `[metrics]` of Airflow's configuration. Airflow's settings decide
on host, port, prefix and the allowed names. The names of the figure `rows_per_second`:

| name | tags |
|---|---|
| `airflow.tidemark.step.rows_per_second` | `pipeline` and `step` |
| `airflow.tidemark.step.rows_per_second.<pipeline>.<step>` | none |

The second name is for StatsD without tags. Airflow's `legacy_names_on = False` leaves it out, as for Airflow's own
metrics. A character that no metric may have is `_` in it, and a dot is `__`.

"""
_SETTINGS = """\
export AIRFLOW__METRICS__STATSD_ON=True
export AIRFLOW__METRICS__STATSD_HOST=statsd.example
export AIRFLOW__METRICS__STATSD_PORT=8125
"""
_LIMITS = """\
## Limits

- The figures of a step are those of all Spark jobs that began during it. The entry of the plan in the ledger may be
  written beside the step behind it, and is then part of that step.
- A slice that is a separate task has its figures in that task. Those of `replay` are then without the slices.
- Spark forgets the oldest of more than 1,000 jobs, stages or queries. A long step is therefore read in between. If jobs
  were forgotten nevertheless, `jobs_not_measured` is their number.
"""


def page() -> str:
    """Return the page."""
    head = ("figure", "unit", "absent if", "meaning")
    figures, settings = table(head, map(_row, FIGURES)), block(_SETTINGS, "bash")
    return "\n".join(["# Spark's figures\n", _INTRODUCTION, figures, _METRICS + settings, _LIMITS])


def _row(figure: Figure) -> tuple[str, str, str, str]:
    name = f"{anchor(figure.name)}{code(figure.name)}"
    return name, figure.unit, figure.absent or "never", sentence(figure.meaning)
