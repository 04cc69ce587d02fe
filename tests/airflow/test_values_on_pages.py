"""Values of data on the pages about rows: text and never markup, with one text for each value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import Any

import httpx
import pytest
from markupsafe import escape

from tests.airflow.quality_server import Clients, links, visible_text
from tests.support.published_sales import published
from tests.support.recorded_publication import RUN_ID
from tests.support.sample_report_runs import HOSTILE

pytestmark = pytest.mark.airflow

PAGE = f"/tidemark/rows/tidemark_visits/runs/{RUN_ID}"


@pytest.fixture(name="publish")
def _publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Publish a run whose rows have these products in turn."""

    def publish(*products: str | None) -> None:
        publication = published(tmp_path, "visits", products)
        monkeypatch.setenv("TIDEMARK_LAKE", publication.lake.root)
        monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path / "dags"))

    return publish


def test_values_of_data_are_text_and_never_markup(
    client: Clients, publish: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = HOSTILE.replace("\ud800", "")
    publish(spoilt, "cake")
    for setting in ("no", "yes"):
        monkeypatch.setenv("TIDEMARK_PAGES_SHOW_SOURCE", setting)
        html = client().get(PAGE, params={"by": "key"}).text
        places = [PAGE, f"{PAGE}?by=key", *links(html, "Explain"), *links(html, "2024-05-01 10")]
        places += [f"{PAGE}?key.product={httpx.QueryParams({'x': spoilt})['x']}"]
        assert len(places) > 5
        for place in places:
            text = client().get(place).text
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "\u202e" not in text
        words = visible_text(client().get(links(html, "Explain")[0]).text)
        assert "alert(1)" in words


@pytest.mark.parametrize(
    ("value", "html"),
    [
        (None, '<span class="null">null</span>'),
        ("null", "<bdi>&#39;null&#39;</bdi>"),
        ("", "<bdi>&#39;&#39;</bdi>"),
        (nan, "<bdi>NaN</bdi>"),
        (b"\x00\xff", "<bdi>X&#39;00FF&#39;</bdi>"),
        (True, "<bdi>true</bdi>"),
        (datetime(2024, 5, 1, 10, 12, 0, 250_000, UTC), "2024-05-01 10:12:00.25"),
        ({"<b>": None, "y": [nan]}, "<bdi>{&#34;&lt;b&gt;&#34;: null, &#34;y&#34;: [NaN]}</bdi>"),
        (["x" * 200], f'<bdi>[&#34;{"x" * 118}</bdi><span class="cut">… cut, 84 more characters</span>'),
    ],
)
def test_a_value_has_the_text_of_the_terminal(value: Any, html: str) -> None:
    from tidemark_airflow.inspection import pages

    assert pages._value(value) == html


def test_texts_that_look_alike_lead_to_their_own_rows(client: Clients, publish: Callable[..., None]) -> None:
    publish("", "null", None)
    listed, products = client().get(PAGE).text, ("''", "'null'", "null")
    rows = {product: visible_text(listed).count(f"Explain {product} ") for product in products}
    assert min(rows.values()) > 0
    assert "Explain 'null' north 2024-05-01" in visible_text(listed)
    explained = [visible_text(client().get(link).text) for link in links(listed, "Explain")]
    assert rows == {product: sum(f"product {product} shop" in words for words in explained) for product in products}
    groups = client().get(PAGE, params={"by": "key"}).text
    for product, count in rows.items():
        (group,) = links(groups, str(escape(product)))
        assert visible_text(client().get(group).text).count("Explain") == count
