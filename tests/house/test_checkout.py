from __future__ import annotations

from tests.house.conftest import Make


def test_product_tests_and_documents_are_apart(make: Make) -> None:
    house = make({"spark_jobs/a.py": "", "plugins/p/b.py": "", "tests/unit/test_a.py": "", "docs/page.md": "# Page"})
    assert [module.dotted for module in house.product] == ["p.b", "spark_jobs.a"]
    assert [module.path for module in house.tests] == ["tests/unit/test_a.py"]
    assert [document.path for document in house.documents] == ["docs/page.md"]


def test_environments_hidden_folders_and_what_runs_write_are_left_out(make: Make) -> None:
    house = make({
        ".venv/lib/a.py": "",
        "env/pyvenv.cfg": "",
        "env/lib/b.py": "",
        "lake/c.md": "",
        "spark_jobs/__pycache__/d.py": "",
        "docs/lake/kept.md": "",
    })  # fmt: skip
    assert house.paths == ("docs/lake/kept.md",)
