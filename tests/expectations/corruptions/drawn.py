"""Corruptions of the run drawn by hand: each invariant of rows has one at least."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import enter
from tests.support.generated_run import add, all_of, at, change, remove, repeat, result

enter(
    "drawn",
    {
        "a_calendar_window_off_the_grid": (
            change("watermarks", 1, window_start=at(10.5), window_end=at(20.5)),
            {"watermarks.windows_lie_on_the_grid", "panes.panes_fire_as_the_calendar_says"},
        ),
        "a_calendar_window_too_long": (
            change("watermarks", 1, window_end=at(20.1)),
            {"watermarks.windows_are_as_long_as_declared"},
        ),
        "a_window_listed_twice": (
            repeat("watermarks", 1),
            {"watermarks.every_window_is_listed_once"},
        ),
        "a_firing_before_the_watermark": (
            all_of(
                change("watermarks", 0, watermark_at_fire=at(9.998), partition_watermarks=None),
                change("panes", 0, watermark=at(9.998)),
            ),
            {
                "watermarks.windows_fire_once_the_watermark_is_past_them",
                "panes.no_pane_fires_before_its_watermark",
            },
        ),
        "a_window_closed_before_it_fired": (
            change("watermarks", 1, closes_at=at(21)),
            {"watermarks.windows_close_after_they_fire"},
        ),
        "a_watermark_that_falls": (
            all_of(
                change("watermarks", 0, watermark_at_fire=at(21), partition_watermarks=None),
                change("panes", 0, watermark=at(14)),
                change("panes", 1, watermark=at(14)),
                change("panes", 2, watermark=at(14)),
            ),
            {"watermarks.watermarks_never_fall", "panes.panes_fire_as_the_calendar_says"},
        ),
        "a_watermark_ahead_of_the_slowest_partition": (
            change("watermarks", 1, partition_watermarks=[{"source_partition": "0", "watermark": at(20.4)}]),
            {"watermarks.the_watermark_is_that_of_the_slowest_partition"},
        ),
        "a_window_left_open_at_the_end": (
            change("watermarks", 2, closes_at=None),
            {"watermarks.the_end_of_input_closes_every_window"},
        ),
        "a_pane_off_the_grid_by_a_microsecond": (
            all_of(
                change("panes", 4, window_start=at(10.000001), window_end=at(20.000001)),
                change("window_results", 2, window_start=at(10.000001), window_end=at(20.000001)),
            ),
            {
                "panes.windows_lie_on_the_grid",
                "panes.panes_fire_as_the_calendar_says",
                "window_results.windows_lie_on_the_grid",
            },
        ),
        "a_pane_of_a_window_too_short": (
            change("panes", 4, window_end=at(19)),
            {"panes.windows_are_as_long_as_declared"},
        ),
        "a_late_pane_at_the_cleanup_time": (
            change("panes", 2, watermark=at(14.999)),
            {"panes.no_late_pane_fires_after_cleanup"},
        ),
        "a_missing_watermark": (
            change("panes", 5, watermark=None),
            {"panes.no_pane_fires_before_its_watermark", "panes.panes_fire_as_the_calendar_says"},
        ),
        "two_panes_0": (
            all_of(change("panes", 1, pane_index=0), change("panes", 2, pane_index=1)),
            {"panes.every_window_has_one_pane_0", "panes.late_panes_add_one_row"},
        ),
        "no_pane_0": (
            change("panes", 3, pane_index=1),
            {"panes.every_window_has_one_pane_0"},
        ),
        "a_gap_in_the_pane_numbers": (
            change("panes", 2, pane_index=3),
            {"panes.pane_numbers_have_no_gap_and_no_duplicate"},
        ),
        "a_pane_number_twice": (
            change("panes", 2, pane_index=1),
            {"panes.pane_numbers_have_no_gap_and_no_duplicate"},
        ),
        "an_unknown_timing": (
            change("panes", 2, timing="early"),
            {"panes.panes_are_on_time_or_late"},
        ),
        "an_on_time_pane_after_the_first": (
            change("panes", 1, timing="on_time"),
            {
                "panes.only_pane_0_is_on_time",
                "panes.panes_fire_as_the_calendar_says",
            },
        ),
        "an_empty_pane": (
            all_of(change("panes", 4, row_count=0), change("window_results", 2, row_count=0)),
            {"panes.no_pane_is_empty"},
        ),
        "a_late_pane_that_adds_two_rows": (
            all_of(change("panes", 2, row_count=6), change("window_results", 0, row_count=6)),
            {"panes.late_panes_add_one_row"},
        ),
        "a_late_pane_that_forgets_what_came_before": (
            all_of(change("panes", 2, row_count=1), change("window_results", 0, row_count=1)),
            {"panes.late_panes_add_one_row"},
        ),
        "panes_that_fire_out_of_order": (
            all_of(change("panes", 2, fired_at=at(12.5)), change("window_results", 0, last_fired_at=at(12.5))),
            {"panes.panes_fire_in_the_order_of_their_numbers"},
        ),
        "a_late_pane_before_the_window_fired": (
            all_of(change("panes", 3, fired_at=at(11)), change("window_results", 1, last_fired_at=at(11))),
            {"panes.panes_fire_as_the_calendar_says"},
        ),
        "a_late_pane_after_the_window_closed": (
            all_of(change("panes", 2, fired_at=at(17.5)), change("window_results", 0, last_fired_at=at(17.5))),
            {"panes.panes_fire_as_the_calendar_says"},
        ),
        "a_lost_result": (remove("window_results", 3), {"window_results.every_fired_window_has_one_result"}),
        "a_result_of_a_null_key_twice": (
            repeat("window_results", 3),
            {"window_results.every_fired_window_has_one_result"},
        ),
        "a_result_of_a_window_that_never_fired": (
            add("window_results", result("ZZ", 10, 1, 1, at(22))),
            {"window_results.every_result_has_a_pane"},
        ),
        "a_result_of_a_window_too_long": (
            change("window_results", 2, window_end=at(21)),
            {"window_results.windows_are_as_long_as_declared"},
        ),
        "a_result_of_an_older_pane": (
            change("window_results", 0, row_count=4),
            {
                "window_results.results_hold_the_rows_of_the_latest_pane",
                "window_results.results_show_what_the_latest_pane_shows",
            },
        ),
        "a_result_that_shows_another_value": (
            change("window_results", 0, flights=4),
            {"window_results.results_show_what_the_latest_pane_shows"},
        ),
        "a_pane_that_counts_other_rows_than_it_holds": (
            change("panes", 0, flights=4),
            {"panes.counts_of_all_rows_are_row_counts"},
        ),
        "a_result_that_miscounts_its_panes": (
            change("window_results", 0, pane_count=2),
            {"window_results.results_count_their_panes"},
        ),
        "a_result_as_of_an_older_pane": (
            change("window_results", 0, last_fired_at=at(13)),
            {"window_results.results_are_as_of_the_latest_pane"},
        ),
        "a_result_that_forgets_a_too_late_row": (
            change("window_results", 1, too_late_count=0),
            {"window_results.results_count_the_rows_they_missed"},
        ),
        "a_late_event_of_another_window": (
            change("late_events", 1, event_time=at(10), late_by_ms=9_000),
            {"late_events.late_events_missed_their_own_window"},
        ),
        "a_late_event_of_a_window_off_the_grid": (
            change("late_events", 1, window_start=at(0.5), window_end=at(10.5)),
            {"late_events.windows_lie_on_the_grid", "late_events.late_events_arrive_after_their_window_closed"},
        ),
        "a_late_event_of_a_window_too_long": (
            change("late_events", 1, window_end=at(10.5), watermark=at(19)),
            {"late_events.windows_are_as_long_as_declared"},
        ),
        "a_row_dropped_one_millisecond_too_early": (
            change("late_events", 0, watermark=at(14.998), late_by_ms=9_998),
            {"late_events.no_row_is_too_late_for_an_open_window"},
        ),
        "a_wrong_late_by_ms": (
            change("late_events", 0, late_by_ms=10_999),
            {"late_events.late_by_is_the_watermark_minus_the_event_time"},
        ),
        "a_late_event_that_arrived_before_its_window_closed": (
            change("late_events", 0, arrival_time=at(16.9)),
            {"late_events.late_events_arrive_after_their_window_closed"},
        ),
    },
)
