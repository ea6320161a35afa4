"""The ages of all baselines of a project, as a command lists them."""

from datetime import UTC, datetime, timedelta

import pytest

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.commands import main
from pytest_evalmetrics.model.baseline import BaselineDocument, Provenance


def days_ago(days):
    time = datetime.now(UTC) - timedelta(days=days, hours=1)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Baselines:
    """The baselines of a project, and what is listed of them."""

    def __init__(self, folder, capsys):
        self.folder = folder / "evals" / "__baselines__" / "math.bench"
        self.folder.mkdir(parents=True)
        self._capsys = capsys

    def record(self, name, recorded, reason=None):
        provenance = Provenance(recorded=recorded, reason=reason)
        baseline = BaselineDocument(benchmark=name, agents={}, provenance=provenance)
        text = render(stamped(baseline))
        (self.folder / f"{name}.json").write_text(text, encoding="utf-8")

    def listed(self):
        self._capsys.readouterr()
        assert main(["baselines", "age"]) == 0
        return self._capsys.readouterr().out.splitlines()


@pytest.fixture
def kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return Baselines(tmp_path, capsys)


def test_the_oldest_baseline_is_listed_first_with_its_day_and_reason(kept):
    kept.record("sums", days_ago(1))
    kept.record("words", days_ago(40), reason="a shorter prompt")
    older, newer = kept.listed()
    folder = "evals/__baselines__/math.bench"
    day = days_ago(40)[:10]
    assert older == f"40 days  {folder}/words.json  {day}: a shorter prompt"
    assert newer == f"1 day  {folder}/sums.json  {days_ago(1)[:10]}"


def test_a_baseline_of_a_clock_ahead_is_0_days_old(kept):
    kept.record("sums", days_ago(-3))
    (line,) = kept.listed()
    assert line.startswith("0 days  evals/")


@pytest.mark.parametrize("recorded", [None, "yesterday", "2026-08-01T00:00:00"])
def test_a_baseline_that_names_no_time_with_a_zone_leads_without_an_age(kept, recorded):
    kept.record("old", days_ago(400))
    kept.record("sums", recorded, reason="by hand")
    assert kept.listed()[0] == (
        "age not known  evals/__baselines__/math.bench/sums.json: by hand"
    )


def test_a_baseline_that_can_not_be_read_is_listed_last_with_the_cause(kept):
    kept.record("sums", days_ago(1))
    (kept.folder / "broken.json").write_text("")
    listed = kept.listed()
    assert listed[0].startswith("1 day  ")
    assert listed[1:] == [
        "evals/__baselines__/math.bench/broken.json: this baseline is empty"
    ]


def test_a_broken_baseline_alone_is_listed(kept):
    (kept.folder / "broken.json").write_text("")
    assert kept.listed() == [
        "evals/__baselines__/math.bench/broken.json: this baseline is empty"
    ]


def test_the_option_that_records_baselines_is_named_where_there_are_none(kept):
    assert kept.listed() == [
        "there is no baseline yet: pytest --evalmetrics-update records them"
    ]
