"""Times of flights: small cases by hand, and what must hold for every flight of the data set."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from spark_jobs.flights import dataset, times

ZONES = {
    "ORD": "America/Chicago",
    "HNL": "Pacific/Honolulu",
    "PBI": "America/New_York",
    "LAX": "America/Los_Angeles",
}


def flight(date: str, dest: str, **values: float | None) -> dict[str, Any]:
    """Return a row of the data set; clock times and delays that are not given are missing."""
    year, month, day = map(int, date.split("-"))
    nothing = {"dep_time": None, "dep_delay": None, "arr_time": None, "arr_delay": None}
    return {"year": year, "month": month, "day": day, "dest": dest, **nothing, **values}


def timed(row: dict[str, Any]) -> tuple[str | None, ...]:
    """`scheduled_at, departed_at, landed_at` of one row, in UTC to the minute."""
    columns = {name: pd.Series([value], dtype=None if name == "dest" else float) for name, value in row.items()}
    derived = times.with_times(pd.DataFrame(columns), ZONES).iloc[0]
    moments = (derived[name] for name in ("scheduled_at", "departed_at", "landed_at"))
    return tuple(None if pd.isna(moment) else f"{moment:%m-%d %H:%M}" for moment in moments)


def test_a_departure_is_read_on_new_yorks_clock_in_winter_and_in_summer() -> None:
    values = {"sched_dep_time": 900, "sched_arr_time": 1030, "dep_time": 855, "dep_delay": -5, "arr_delay": 10}
    assert timed(flight("2013-01-15", "ORD", **values)) == ("01-15 14:00", "01-15 13:55", "01-15 16:40")
    assert timed(flight("2013-07-15", "ORD", **values)) == ("07-15 13:00", "07-15 12:55", "07-15 15:40")


def test_a_flight_west_may_land_before_it_left_by_the_clocks_but_not_in_time() -> None:
    values = {"sched_dep_time": 1000, "sched_arr_time": 1530, "dep_time": 1000, "dep_delay": 0, "arr_delay": 0}
    assert timed(flight("2013-01-15", "HNL", **values)) == ("01-15 15:00", "01-15 15:00", "01-16 01:30")


def test_a_flight_past_midnight_lands_on_the_next_day() -> None:
    values = {"sched_dep_time": 2345, "sched_arr_time": 255, "dep_time": 1, "dep_delay": 16, "arr_delay": -4}
    assert timed(flight("2013-01-31", "PBI", **values)) == ("02-01 04:45", "02-01 05:01", "02-01 07:51")


def test_2400_is_the_end_of_the_day() -> None:
    values = {"sched_dep_time": 2100, "sched_arr_time": 2330, "dep_time": 2100, "dep_delay": 0, "arr_time": 2400}
    assert timed(flight("2013-01-15", "PBI", **values))[2] == "01-16 05:00"


def test_a_flight_through_the_night_of_the_clock_change_takes_as_long_as_it_takes() -> None:
    values = {"sched_dep_time": 2145, "sched_arr_time": 34, "dep_time": 2306, "dep_delay": 81, "arr_delay": 89}
    scheduled, departed, landed = timed(flight("2013-03-09", "PBI", **values))
    assert (scheduled, departed, landed) == ("03-10 02:45", "03-10 04:06", "03-10 07:03")


def test_a_clock_time_that_occurs_twice_is_the_first_and_a_skipped_one_the_end_of_the_gap() -> None:
    values = {"sched_arr_time": 500, "dep_delay": 0, "arr_delay": 0}
    assert timed(flight("2013-11-03", "PBI", sched_dep_time=130, **values))[0] == "11-03 05:30"
    assert timed(flight("2013-03-10", "PBI", sched_dep_time=230, **values))[0] == "03-10 07:00"


def test_a_diverted_flight_lands_when_its_destinations_clock_shows_the_arrival() -> None:
    values = {"sched_dep_time": 629, "sched_arr_time": 931, "dep_time": 625, "dep_delay": -4, "arr_time": 1635}
    assert timed(flight("2013-01-10", "LAX", **values)) == ("01-10 11:29", "01-10 11:25", "01-11 00:35")


def test_a_flight_that_never_arrived_is_known_when_it_was_missed() -> None:
    values = {"sched_dep_time": 900, "sched_arr_time": 1030, "dep_time": 1000, "dep_delay": 60}
    assert timed(flight("2013-01-15", "ORD", **values)) == ("01-15 14:00", "01-15 15:00", "01-15 17:30")


def test_a_cancelled_flight_has_no_departure_and_is_known_when_it_was_due_to_leave() -> None:
    values = {"sched_dep_time": 900, "sched_arr_time": 1030}
    assert timed(flight("2013-01-15", "ORD", **values)) == ("01-15 14:00", None, "01-15 14:00")


def test_a_destination_without_a_time_zone_is_named() -> None:
    row = flight("2013-01-15", "XXX", sched_dep_time=900, sched_arr_time=1030)
    with pytest.raises(times.UnknownZoneError, match="time zone of XXX"):
        timed(row)


@pytest.fixture(name="real", scope="module")
def _real() -> pd.DataFrame:
    zones = dataset.read_zones()
    flights = times.with_times(dataset.read_flights(), zones)
    return flights.assign(zone=flights["dest"].map({**times.MISSING_ZONES, **zones}))


def on_local_clock(instants: pd.Series, zones: pd.Series) -> pd.Series:
    """Return the local clock time of each row's instant, in its zone, as the data set writes clock times."""
    by_zone: list[pd.Series] = [
        rows.dt.tz_convert(name).dt.strftime("%H%M").astype(int) for name, rows in instants.groupby(zones)
    ]
    clock_times: pd.Series = pd.concat(by_zone).reindex(instants.index)
    return clock_times


def test_2013_has_336776_flights_of_which_8255_were_cancelled(real: pd.DataFrame) -> None:
    assert len(real) == 336_776
    assert set(real["scheduled_at"].dt.tz_convert(times.NEW_YORK).dt.year) == {2013}
    assert real["departed_at"].isna().sum() == 8_255
    assert (real["departed_at"].isna() == real["dep_time"].isna()).all()


def test_every_flight_becomes_known_and_none_before_it_left(real: pd.DataFrame) -> None:
    assert real["landed_at"].notna().all()
    left = real[real["departed_at"].notna()]
    assert (left["landed_at"] > left["departed_at"]).all()


def test_the_hour_of_departure_is_the_one_that_the_data_set_gives_in_utc(real: pd.DataFrame) -> None:
    assert (real["scheduled_at"].dt.floor("h") == pd.to_datetime(real["time_hour"])).all()


def test_the_clocks_of_departure_and_arrival_show_the_times_of_the_data_set(real: pd.DataFrame) -> None:
    left = real[real["dep_time"].notna()]
    assert (
        on_local_clock(left["departed_at"], left["zone"].map(lambda _: times.NEW_YORK)) == left["dep_time"] % 2400
    ).all()
    arrived = real[real["arr_time"].notna()]
    differing = arrived[on_local_clock(arrived["landed_at"], arrived["zone"]) != arrived["arr_time"] % 2400]
    # The data set's own arithmetic overlooks the clock change, once: it has a landing at 02:03, which did not exist.
    assert differing[["month", "day", "dest", "arr_time"]].to_numpy().tolist() == [[3, 9, "PBI", 203]]


def test_the_time_between_departure_and_landing_holds_the_flight_and_a_taxi_of_5_minutes_to_4_hours(
    real: pd.DataFrame,
) -> None:
    flight_and_taxi: pd.Series[pd.Timedelta] = real["landed_at"] - real["departed_at"]
    on_the_ground = flight_and_taxi / pd.Timedelta(minutes=1) - real["air_time"]
    arrived = on_the_ground[real["air_time"].notna()]
    assert arrived.between(5, 240).all()
    # A destination in the wrong zone would be off by an hour at every flight, if only in winter.
    assert arrived.groupby([real["dest"], real["month"]]).median().between(15, 60).all()
