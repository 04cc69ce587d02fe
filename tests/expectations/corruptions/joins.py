"""Corruptions of joins: pairs, firings, late rows and invalid rows."""

from __future__ import annotations

from tests.expectations.corruptions.catalogue import enter
from tests.expectations.corruptions.join_runs import late, order
from tests.support.generated_run import add, all_of, at, change, remove, repeat

_COUNTS = "run.reported_counts_are_what_is_staged"
_ORDERS, _PAYMENTS = (f"run.every_row_of_{name}_is_accounted_for" for name in ("orders", "payments"))

enter(
    "interval_join",
    {
        "a_payment_of_another_key": (
            change("pairs", 0, payments=order("b", 15, 16)),
            {"pairs.rows_of_a_pair_have_one_key"},
        ),
        "a_payment_with_a_key_for_an_order_without": (
            change("pairs", 1, payments=order("a", 15, 22)),
            {"pairs.rows_of_a_pair_have_one_key"},
        ),
        "a_payment_at_the_exclusive_upper_bound": (
            change("pairs", 0, payments=order("a", 20, 16), event_time=at(20)),
            {"pairs.rows_of_a_pair_lie_within_the_bounds"},
        ),
        "a_payment_a_millisecond_below_the_lower_bound": (
            change("pairs", 1, payments=order(None, 14.999, 22)),
            {"pairs.rows_of_a_pair_lie_within_the_bounds"},
        ),
        "an_event_time_of_the_earlier_row": (
            change("pairs", 0, event_time=at(10)),
            {"pairs.the_event_time_of_a_pair_is_the_greater"},
        ),
        "an_event_time_a_microsecond_late": (
            change("pairs", 0, event_time=at(15.000001)),
            {"pairs.the_event_time_of_a_pair_is_the_greater"},
        ),
        "a_pair_that_fires_before_its_later_row": (
            change("pairs", 0, fired_at=at(11)),
            {"pairs.a_pair_fires_when_its_later_row_comes"},
        ),
        "a_pair_that_fires_a_microsecond_late": (
            change("pairs", 0, fired_at=at(16.000001)),
            {"pairs.a_pair_fires_when_its_later_row_comes"},
        ),
        "a_late_row_at_its_watermark": (
            change("late_events", 0, watermark=at(5), late_by_ms=0),
            {"late_join_rows.late_rows_lie_strictly_behind_their_watermark"},
        ),
        "a_late_by_ms_too_few": (
            change("late_events", 1, late_by_ms=11_000),
            {"late_join_rows.late_rows_lie_strictly_behind_their_watermark"},
        ),
        "a_late_row_of_an_unknown_input": (
            change("late_events", 0, source="refunds"),
            {"late_join_rows.late_rows_are_of_an_input", _COUNTS, _ORDERS},
        ),
        "a_pair_twice": (
            repeat("pairs", 0),
            {_COUNTS},
        ),
        "a_late_row_dropped": (
            remove("late_events", 1),
            {_COUNTS, _PAYMENTS},
        ),
        "an_invalid_row_dropped": (
            remove("invalid_events", 0),
            {_COUNTS, _ORDERS},
        ),
        "an_invalid_row_of_the_other_input": (
            change("invalid_events", 0, source="payments"),
            {_COUNTS, _ORDERS, _PAYMENTS},
        ),
        "an_invalid_row_of_an_undeclared_reason": (
            change("invalid_events", 0, reason="a whim"),
            {"source.invalid_rows_say_why"},
        ),
    },
)

_SECOND_NOT_AFTER = "pairs.the_second_row_of_a_pair_is_not_after_the_first"
_FIRES_AFTER_BOTH = "pairs.a_pair_fires_when_its_rows_have_come"

enter(
    "as_of_join",
    {
        "a_version_of_another_key": (
            change("pairs", 0, payments=order("b", 8, 9)),
            {"pairs.rows_of_a_pair_have_one_key"},
        ),
        "a_version_a_millisecond_after_its_order": (
            change("pairs", 0, payments=order("a", 10.001, 11)),
            {_SECOND_NOT_AFTER},
        ),
        "a_version_without_a_time": (
            change("pairs", 0, payments=("a", None, at(9))),
            {_SECOND_NOT_AFTER},
        ),
        "an_event_time_of_the_version": (
            change("pairs", 0, event_time=at(8)),
            {"pairs.the_event_time_of_a_pair_is_that_of_its_first_row"},
        ),
        "an_order_that_fires_before_it_comes": (
            change("pairs", 2, fired_at=at(13.999999)),
            {_FIRES_AFTER_BOTH},
        ),
        "an_order_that_fires_before_its_version_comes": (
            change("pairs", 0, payments=order("a", 8, 13.5)),
            {_FIRES_AFTER_BOTH},
        ),
        "a_late_row_ahead_of_its_watermark": (
            change("late_events", 0, watermark=at(4.999), late_by_ms=-1),
            {"late_join_rows.late_rows_lie_at_their_watermark_or_behind_it"},
        ),
        "a_late_row_by_a_second_too_few": (
            change("late_events", 1, late_by_ms=11_000),
            {"late_join_rows.late_rows_lie_at_their_watermark_or_behind_it"},
        ),
        "a_late_version_that_joined": (
            change("late_events", 1, verdict="joined"),
            {"late_join_rows.late_rows_have_a_verdict_of_their_input"},
        ),
        "an_order_that_waits_after_the_end": (
            change("late_events", 0, verdict="waits"),
            {"late_join_rows.late_rows_have_a_verdict_of_their_input"},
        ),
        "an_order_twice": (
            repeat("pairs", 2),
            {_COUNTS, "run.each_first_row_is_in_one_pair"},
        ),
        "an_order_lost": (
            remove("pairs", 2),
            {_COUNTS, "run.each_first_row_is_in_one_pair"},
        ),
    },
)

enter(
    "as_of_inner_join",
    {
        "an_order_without_a_version": (
            change("pairs", 0, payments=None),
            {"pairs.rows_of_a_pair_have_one_key", _SECOND_NOT_AFTER, _FIRES_AFTER_BOTH},
        ),
        "more_pairs_than_orders": (
            all_of(*(repeat("pairs", 0) for _ in range(3))),
            {_COUNTS, "run.each_first_row_is_in_one_pair_at_the_most"},
        ),
    },
)

enter(
    "split_join",
    {
        "a_right_row_of_the_left_side": (
            change("pairs", 0, right=("a", at(15), at(16), "order")),
            {"pairs.rows_of_a_pair_are_of_their_sides"},
        ),
        "a_left_row_of_the_right_side": (
            change("pairs", 0, left=("a", at(10), at(11), "payment")),
            {"pairs.rows_of_a_pair_are_of_their_sides"},
        ),
    },
)

enter(
    "window_join",
    {
        "a_window_off_the_grid": (
            change("pairs", 0, window_start=at(10.5), window_end=at(20.5), pane_index=0, watermark=at(20.499)),
            {"pairs.windows_lie_on_the_grid"},
        ),
        "a_window_too_long": (
            change("pairs", 3, window_end=at(31)),
            {"pairs.windows_are_as_long_as_declared"},
        ),
        "a_payment_at_the_end_of_its_window": (
            change("pairs", 3, payments=order(None, 30, 31)),
            {"pairs.rows_of_a_pair_lie_in_its_window"},
        ),
        "an_order_before_its_window": (
            change("pairs", 3, orders=order(None, 19, 23)),
            {"pairs.rows_of_a_pair_lie_in_its_window"},
        ),
        "a_pair_of_another_key_than_its_rows": (
            change("pairs", 3, order_id="a"),
            {"pairs.a_pair_has_the_key_of_its_rows"},
        ),
        "a_pair_that_fires_before_its_payment": (
            change("pairs", 3, payments=order(None, 23, 34)),
            {"pairs.pairs_fire_when_both_rows_have_come"},
        ),
        "two_arrivals_of_one_firing": (
            change("pairs", 1, fired_at=at(24)),
            {"pair_firings.pairs_of_a_firing_come_together"},
        ),
        "a_firing_before_its_watermark": (
            change("pairs", 0, watermark=at(19.998)),
            {"pair_firings.no_firing_comes_before_its_watermark"},
        ),
        "a_late_firing_at_the_cleanup_time": (
            change("pairs", 3, watermark=at(34.999)),
            {"pair_firings.no_late_firing_comes_after_cleanup"},
        ),
        "an_early_firing": (
            change("pairs", 0, timing="early"),
            {"pair_firings.firings_are_on_time_or_late"},
        ),
        "an_on_time_firing_after_the_first": (
            change("pairs", 3, timing="on_time"),
            {"pair_firings.only_firing_0_is_on_time"},
        ),
        "a_firing_after_the_next_firing": (
            change("pairs", 0, fired_at=at(23.5)),
            {"pair_firings.firings_come_in_the_order_of_their_numbers"},
        ),
        "a_watermark_above_the_next_firing": (
            change("pairs", 0, watermark=at(20.5)),
            {"pair_firings.firings_come_in_the_order_of_their_numbers"},
        ),
        "a_gap_in_the_firings_of_a_window": (
            all_of(change("pairs", 1, pane_index=2), change("pairs", 2, pane_index=2)),
            {"pair_firings.firings_show_all_pairs_so_far"},
        ),
        "a_pair_three_times_in_one_firing": (
            all_of(repeat("pairs", 0), repeat("pairs", 0)),
            {"pair_firings.firings_show_all_pairs_so_far", _COUNTS},
        ),
        "a_row_dropped_one_millisecond_too_early": (
            change("late_events", 0, watermark=at(14.998), late_by_ms=9_998),
            {"late_join_rows.no_row_is_too_late_for_an_open_window"},
        ),
        "a_late_event_of_another_window": (
            change("late_events", 0, window_start=at(10), window_end=at(20), watermark=at(25), late_by_ms=20_000),
            {"late_join_rows.late_events_missed_their_own_window"},
        ),
        "a_late_event_twice": (
            add("late_events", late("orders", 5, 19, 16)),
            {_COUNTS, _ORDERS},
        ),
    },
)

enter(
    "session_join",
    {
        "a_gap_in_the_firings_of_a_session": (
            change("pairs", 2, pane_index=3),
            {"pair_firings.firings_show_all_pairs_so_far"},
        ),
        "a_late_event_outside_its_session": (
            change("late_events", 0, window_start=at(4), window_end=at(14)),
            {"late_join_rows.late_events_missed_their_own_window"},
        ),
        "a_session_shorter_than_its_gap": (
            change("pairs", 0, window_end=at(20)),
            {"pairs.sessions_are_no_shorter_than_the_gap"},
        ),
    },
)
