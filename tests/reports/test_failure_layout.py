"""A failure as lines: what fits the terminal, and what makes room for what matters more."""

import pytest
from msgspec import structs

from pytest_evalmetrics.failure_lines import (
    Failure,
    Line,
    LineKind,
    Picture,
    Row,
    Table,
    TaskLine,
)
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import failure_layout
from pytest_evalmetrics.reports.drawing import ASCII, LINES
from pytest_evalmetrics.reports.failure_layout import (
    FailureText,
    Page,
    Shown,
    lines_of,
    shown_paragraph,
    strokes_of,
    text_of,
    width_of,
)

BRIEF = Shown(everything=False)
SHORT = Shown(everything=False, short=True)
VERBOSE = Shown()
PAGE = Page(
    file="e/report.html", place="#/a::b", address="file:///x/e/report.html#/a::b"
)


def lines(blocks, shown=BRIEF):
    return [line.text for line in lines_of(Failure("why", blocks), shown)]


def at(width, **fields):
    return structs.replace(BRIEF, width=width, **fields)


# -- lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "short", "brief"),
    [
        (LineKind.PLAIN, True, True),
        (LineKind.REASON, True, True),
        (LineKind.BESIDE, True, True),
        (LineKind.PART, True, True),
        (LineKind.SHARED, True, True),
        (LineKind.HINT, True, True),
        (LineKind.COMMAND, True, True),
        (LineKind.REMARK, False, True),
        (LineKind.DETAIL, False, False),
    ],
)
def test_details_are_shown_with_v_and_remarks_not_in_short(kind, short, brief):
    line = Line("text", kind)
    assert lines([line], SHORT) == ["text"] * short
    assert lines([line], BRIEF) == ["text"] * brief
    assert lines([line], VERBOSE) == ["text"]


def test_with_v_a_line_has_every_name():
    line = Line("a and 9 more", LineKind.REASON, full="a, b, c")
    assert lines([line]) == ["a and 9 more"]
    assert lines([line], VERBOSE) == ["a, b, c"]
    assert lines([Line("a")], VERBOSE) == ["a"]


WORDS = " ".join(["word"] * 30)


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (LineKind.REMARK, 1),
        (LineKind.BESIDE, 1),
        (LineKind.PART, 1),
        (LineKind.SHARED, 1),
        (LineKind.REASON, 4),
        (LineKind.HINT, 8),
    ],
)
def test_a_line_takes_as_many_lines_as_its_kind_may(kind, most):
    written = lines([Line(WORDS, kind)], at(26))
    assert len(written) == most
    assert all(len(line) <= 26 for line in written)
    assert written[-1].endswith("...") is (kind is not LineKind.HINT)


def test_a_command_is_never_broken():
    command = Line(f"  again:  {WORDS}", LineKind.COMMAND)
    assert lines([command], at(20)) == [f"  again:  {WORDS}"]


def test_a_broken_line_keeps_its_kind_and_its_verdict():
    line = Line("one two three", LineKind.REASON, Verdict.FAIL)
    first, second = lines_of(Failure("why", [line]), at(8))
    assert first == structs.replace(line, text="one two")
    assert second == structs.replace(line, text="      three")


def test_a_failure_does_not_begin_with_an_empty_line():
    assert lines([Line(), Line(), Line("a"), Line(), Line("b")]) == ["a", "", "b"]


def test_all_of_a_failure_is_one_text():
    detail = Line("c", LineKind.DETAIL)
    assert text_of(Failure("why", [Line("a"), Line("b"), detail])) == "a\nb\nc"


# -- what is left out ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hidden", "shown", "text"),
    [
        ("9 more", {}, ["  ... 9 more (-v shows more)"]),
        ("", {}, []),
        ("9 more", {"page": PAGE}, ["  ... 9 more: e/report.html#/a::b"]),
        ("", {"page": PAGE}, ["  more: e/report.html#/a::b"]),
        # 27 columns
        ("", {"page": PAGE, "width": 27}, ["  more: e/report.html#/a::b"]),
        ("", {"page": PAGE, "width": 26}, ["  more: e/report.html"]),
    ],
)
def test_what_is_left_out_is_counted_with_the_page_that_has_it(hidden, shown, text):
    line = Line(hidden, LineKind.MORE)
    assert lines([line], structs.replace(BRIEF, **shown)) == text


def test_the_page_is_a_link_where_a_terminal_opens_it():
    line = Line("9 more", LineKind.MORE)
    shown = structs.replace(BRIEF, page=PAGE, opens_links=True)
    link = f"\x1b]8;;{PAGE.address}\x1b\\e/report.html#/a::b\x1b]8;;\x1b\\"
    assert lines([line], shown) == [f"  ... 9 more: {link}"]


# -- room ------------------------------------------------------------------------------------


def kinds_of(blocks):
    return [line.kind for line in lines_of(Failure("why", blocks), BRIEF)]


def test_a_failure_takes_thirteen_lines():
    reasons = [Line(f"r{number}", LineKind.REASON) for number in range(20)]
    assert lines(reasons) == [f"r{number}" for number in range(13)]
    assert len(lines(reasons, VERBOSE)) == 20


FULL = [Line("plain")] * 12


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        (LineKind.REASON, LineKind.PART),
        (LineKind.PART, LineKind.BESIDE),
        (LineKind.PART, LineKind.HINT),
        (LineKind.BESIDE, LineKind.REMARK),
        (LineKind.HINT, LineKind.REMARK),
    ],
)
def test_further_lines_make_room_for_those_that_say_more(stays, goes):
    # the first of each kind stays longer, and of it there is one
    first = [Line("first", goes), Line("first", stays)]
    more = [Line("second", goes), Line("second", stays)]
    written = lines_of(Failure("why", [*FULL[:10], *first, *more]), BRIEF)
    seconds = [line.kind for line in written if line.text == "second"]
    assert seconds == [stays]


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        (LineKind.BESIDE, LineKind.SHARED),
        (LineKind.SHARED, LineKind.REMARK),
    ],
)
def test_the_first_of_a_kind_makes_room_by_what_it_says(stays, goes):
    written = lines_of(
        Failure("why", [*FULL, Line("goes", goes), Line("stays", stays)]), BRIEF
    )
    assert [line.text for line in written] == ["plain"] * 12 + ["stays"]


@pytest.mark.parametrize(
    "kind", [LineKind.REASON, LineKind.PART, LineKind.HINT, LineKind.COMMAND]
)
def test_the_first_reason_and_way_out_never_make_room(kind):
    blocks = [*FULL, Line("plain"), Line("stays", kind)]
    assert lines(blocks) == ["plain"] * 13 + ["stays"]


# what stays longest comes first
RANKED = {
    "reason": Line("reason", LineKind.REASON),
    "part": Line("part", LineKind.PART),
    "task": TaskLine("task", "1/1 -> 0/1"),
    "beside": Line("beside", LineKind.BESIDE),
    "shared": Line("shared", LineKind.SHARED),
    "hint": Line("hint", LineKind.HINT),
    "remark": Line("remark", LineKind.REMARK),
}
KEPT = [
    Line("kept", LineKind.REASON),
    Line("kept", LineKind.PART),
    Line("kept", LineKind.HINT),
    TaskLine("kept", "1/1 -> 0/1"),
]


@pytest.mark.parametrize("room", range(1, 7))
def test_what_says_least_makes_room_first(room):
    ranked = list(RANKED.values())
    further = [RANKED["task"], *reversed(ranked[:2]), *reversed(ranked[3:])]
    blocks = [*KEPT, *further, *FULL[: 9 - room]]
    written = {line.split()[0] for line in lines(blocks)} - {"kept", "plain"}
    assert written == set(list(RANKED)[:room])


def test_the_first_picture_makes_room_before_reasons_and_after_tasks():
    blocks = [*KEPT, RANKED["task"], picture("drawn"), RANKED["reason"]]
    one = lines([*blocks, *FULL[:8]])
    assert "reason" in one
    assert not any("drawn" in line for line in one)
    two = lines([*blocks, *FULL[:7]])
    assert any("drawn" in line for line in two)
    assert not any(line.startswith("  task") for line in two)


def test_a_picture_further_below_makes_room_before_what_is_shared():
    shared = RANKED["shared"]
    blocks = [*KEPT, picture("first"), Line("plain"), picture("next"), shared]
    written = lines([*blocks, *FULL[:6]])
    assert "shared" in written
    assert any("first" in line for line in written)
    assert not any("next" in line for line in written)


def test_a_line_that_is_too_long_leaves_the_room_to_a_shorter_one():
    long = Line(" ".join(["word"] * 9), LineKind.REASON)
    blocks = [
        Line("first", LineKind.REASON),
        *FULL[:11],
        long,
        Line("b", LineKind.PART),
    ]
    short = [*blocks, Line("c", LineKind.PART)]
    assert lines(short, at(26)) == ["first", *["plain"] * 11, "b"]


# -- tables ----------------------------------------------------------------------------------

HEADER = (
    "verdict",
    "agent",
    "metric",
    "now",
    "tasks",
    "worse",
    "better",
    "direction",
    "expected",
)


def row(metric, verdict=Verdict.FAIL, agent="x"):
    return Row(
        (str(verdict), agent, metric, "0.5", "40", "9", "1", "up", ">= 1"), verdict
    )


def table(*rows, **fields):
    return Table(header=HEADER, rows=rows, **fields)


def test_a_table_shows_what_is_worse_without_its_details():
    written = lines([table(row("a"), row("b", Verdict.WARN), row("c", Verdict.PASS))])
    assert written == [
        "verdict  metric  now",
        "FAIL     a       0.5",
        "WARN     b       0.5",
    ]


def test_with_v_a_table_has_all_rows_and_columns_below_an_empty_line():
    written = lines([Line("head"), table(row("a"), row("b", Verdict.PASS))], VERBOSE)
    assert written == [
        "head",
        "",
        "verdict  agent  metric  now  tasks  worse  better  direction  expected",
        "FAIL     x      a       0.5  40     9      1       up         >= 1",
        "PASS     x      b       0.5  40     9      1       up         >= 1",
    ]


def test_each_row_has_its_verdict():
    found = lines_of(Failure("why", [table(row("a"), row("b", Verdict.WARN))]), BRIEF)
    assert [line.verdict for line in found] == ["", Verdict.FAIL, Verdict.WARN]


def test_rows_of_several_agents_name_them():
    written = lines([table(row("a"), row("a", agent="y"))])
    assert written[0] == "verdict  agent  metric  now"


def test_of_many_rows_four_are_shown():
    rows = [row(f"m{number}") for number in range(6)]
    written = lines([table(*rows, row("z", Verdict.PASS))])
    assert written[4:] == [
        "FAIL     m3      0.5",
        "... 2 more that are worse: -v",
    ]
    assert len(lines([table(*rows[:4])])) == 5
    assert lines([table(*rows[:5])])[5] == "... 1 more that are worse: -v"
    assert len(lines([table(*rows)], VERBOSE)) == 7


def test_a_folded_table_is_shown_with_v_alone():
    folded = table(row("a"), is_folded=True)
    assert lines([folded]) == []
    assert len(lines([folded], VERBOSE)) == 2


def test_a_table_without_worse_rows_is_not_shown():
    assert lines([table(row("a", Verdict.PASS))]) == []


def test_short_failures_have_no_table():
    assert lines([table(row("a"))], SHORT) == []


def test_a_narrow_table_goes_without_the_columns_that_it_can_spare():
    spare = table(row("a"), dispensable=("now",))
    assert lines([spare], at(19))[0] == "verdict  metric"
    assert lines([spare], at(20))[0] == "verdict  metric  now"


# -- pictures --------------------------------------------------------------------------------


def picture(label="", low=-0.6, text="gate"):
    return Picture(
        low=low,
        value=-0.4,
        high=-0.2,
        limit=-0.1,
        shows_zero=True,
        label=label,
        text=text,
    )


def test_a_picture_is_explained_beside_it():
    written = lines([picture()], structs.replace(BRIEF, strokes=ASCII))
    assert written == ["  [------o-----]   :  |  | 0  : gate"]


def test_pictures_share_a_scale_and_the_same_legend_is_written_once():
    pictures = [picture("pass@1"), picture("a", low=-0.5), picture("b", text="other")]
    written = lines(pictures, structs.replace(BRIEF, strokes=ASCII))
    assert written == [
        "  pass@1  [------o-----]   :  |  | 0  : gate",
        "  a          [---o-----]   :  |",
        "  b       [------o-----]   :  |  | 0  : other",
    ]


def test_a_picture_is_cut_to_the_terminal():
    written = lines([picture()], at(35, strokes=ASCII))
    assert written == ["  [------o-----]   :  |  | 0..."]
    assert lines([picture()], at(36, strokes=ASCII)) == [
        "  [------o-----]   :  |  | 0  : gate"
    ]


def test_short_failures_have_no_picture():
    assert lines([picture()], SHORT) == []


def test_pictures_make_room_for_reasons_the_further_ones_first():
    reasons = [Line("r", LineKind.REASON), Line("r", LineKind.REASON)]
    blocks = [*FULL[:11], *reasons, picture()]
    assert lines(blocks) == ["plain"] * 11 + ["r", "r"]
    # a first picture says more than further remarks, a further one less than a task
    tasks = [TaskLine("a", "1/1 -> 0/1"), TaskLine("b", "1/1 -> 0/1")]
    written = lines([*FULL[:10], picture("p"), picture("q"), *tasks])
    assert [line.split()[0] for line in written[10:]] == ["p", "a", "b"]


# -- tasks -----------------------------------------------------------------------------------


def answered(task, now="no idea", **fields):
    return TaskLine(
        task,
        "2/2 -> 0/2",
        **{"expected": "42", "was": "42", "now": now, "has_answers": True, **fields},
    )


def test_a_task_has_its_rewards_and_its_answers():
    assert lines([answered("a"), answered("long")]) == [
        "  a     2/2 -> 0/2  expected 42  was 42  now no idea",
        "  long  2/2 -> 0/2  expected 42  was 42  now no idea",
    ]


def test_rewards_are_aligned_before_the_answers():
    other = structs.replace(answered("b"), rewards="0.5000 -> 0.2500")
    assert lines([answered("a"), other]) == [
        "  a  2/2 -> 0/2        expected 42  was 42  now no idea",
        "  b  0.5000 -> 0.2500  expected 42  was 42  now no idea",
    ]


def test_what_is_unknown_of_a_task_is_not_written():
    no_texts = TaskLine("a", "2/2 -> 0/2")
    assert lines([no_texts]) == ["  a  2/2 -> 0/2"]
    unknown = answered("a", expected="", was=None)
    assert lines([unknown]) == ["  a  2/2 -> 0/2  now no idea"]
    empty = answered("a", was="", now="")
    assert lines([empty]) == ["  a  2/2 -> 0/2  expected 42  was nothing  now nothing"]


def test_a_long_id_keeps_both_ends():
    written = lines([TaskLine("a" * 20 + "b" * 20, "1/1 -> 0/1")])
    assert written == [f"  {'a' * 10}...{'b' * 10}  1/1 -> 0/1"]


def test_answers_share_the_columns_that_a_line_has():
    long = answered("a", now="n" * 60, was="w" * 60)
    (line,) = lines([long], at(81))
    # 15 columns before the answers, 23 of labels, 2 of what was expected
    assert line == (
        f"  a  2/2 -> 0/2  expected 42  was {'w' * 8}...{'w' * 8}  now {'n' * 9}...{'n' * 9}"
    )
    (unlimited,) = lines([long])
    # of 100 columns where nothing limits them
    ends = ("w" * 13, "n" * 13)
    assert unlimited == (
        f"  a  2/2 -> 0/2  expected 42  was {ends[0]}...{ends[0]}  now {ends[1]}...{ends[1]}"
    )
    expected = structs.replace(answered("a"), expected="e" * 60)
    assert lines([expected], at(71)) == [
        "  a  2/2 -> 0/2  expected eeeeeeeeee...eeeeeeeeee  was 42  now no idea"
    ]


def test_answers_without_room_are_not_written():
    # 15 columns, 23 of labels, and 6 for each of three answers
    (written,) = lines([answered("a", now="n" * 60)], at(56))
    assert written == "  a  2/2 -> 0/2  expected 42  was 42  now nnnnn...nnnnn"
    assert lines([answered("a", now="n" * 60)], at(55)) == ["  a  2/2 -> 0/2"]


def test_further_tasks_make_room_and_the_first_stays():
    tasks = [answered("a"), answered("b"), answered("c")]
    assert [line[2] for line in lines([*FULL, *tasks])[12:]] == ["a"]
    stays = [*FULL, Line("plain"), *tasks]
    assert [line[2] for line in lines(stays)[13:]] == ["a"]
    assert len(lines(stays, VERBOSE)) == 16


def test_short_failures_have_no_tasks():
    assert lines([answered("a")], SHORT) == []


def test_a_text_from_right_to_left_moves_no_column():
    hebrew = "\u05e9\u05dc\u05d5\u05dd"
    assert lines([answered(hebrew, now=hebrew)]) == [
        f"  \u2068{hebrew}\u2069  2/2 -> 0/2  expected 42  was 42  now \u2068{hebrew}\u2069"
    ]


# -- how pytest asks for it ------------------------------------------------------------------


class Writer:
    """What pytest's terminal writer offers."""

    fullwidth = 80

    def __init__(self, *, hasmarkup=False):
        self.hasmarkup = hasmarkup
        self.lines = []

    def line(self, s="", **markup):
        self.lines.append((s, markup))


class Output:
    """A file, or a terminal."""

    encoding = "utf-8"

    def __init__(self, *, is_terminal):
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


class System:
    """The module `sys` as far as it is read."""

    def __init__(self, output):
        self.stdout = output


@pytest.fixture
def log(monkeypatch):
    """Let the output be a file."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_HYPERLINK", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    output = Output(is_terminal=False)
    monkeypatch.setattr(failure_layout, "sys", System(output))


@pytest.fixture
def terminal(monkeypatch):
    """Let the output be a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_HYPERLINK", raising=False)
    output = Output(is_terminal=True)
    monkeypatch.setattr(failure_layout, "sys", System(output))


@pytest.mark.usefixtures("log")
def test_a_log_has_lines_of_any_width(monkeypatch):
    assert width_of(Writer()) is None
    assert width_of(Writer(hasmarkup=True)) == 80
    monkeypatch.setenv("COLUMNS", "70")
    assert width_of(Writer()) == 80


@pytest.mark.usefixtures("terminal")
def test_a_terminal_has_its_own_width(monkeypatch):
    monkeypatch.delenv("COLUMNS")
    assert width_of(Writer()) == 80


@pytest.mark.parametrize(
    ("encoding", "strokes"),
    [
        ("utf-8", LINES),
        ("ascii", ASCII),
        ("latin-1", ASCII),
        (None, ASCII),
        ("no-such-encoding", ASCII),
    ],
)
def test_strokes_are_those_that_an_encoding_can_write(encoding, strokes):
    assert strokes_of(encoding) is strokes


REASON = "a reason of many words that a terminal of eighty columns has no room for"


def summary_line(reason=REASON, **fields):
    return Failure(reason, [], **{"benchmark": "a.yaml::math", **fields})


@pytest.mark.usefixtures("terminal")
def test_the_summary_line_of_a_terminal_is_cut_to_its_columns():
    crash = FailureText(summary_line()).reprcrash
    assert crash.message == "a reason of many words that a terminal of eighty..."
    assert str(crash) == crash.message
    assert (crash.path, crash.lineno) == ("", 0)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "text",
    [
        FailureText(summary_line(), everything=True),
        FailureText(summary_line(), style="line"),
        FailureText(summary_line(benchmark="")),
        # a name that leaves less than 24 columns
        FailureText(summary_line(benchmark="b" * 47)),
    ],
)
def test_a_summary_line_is_whole_where_it_is_asked_for_or_nothing_would_be_left(text):
    assert text.reprcrash.message == REASON


@pytest.mark.usefixtures("terminal")
def test_a_summary_line_needs_room_for_a_few_words():
    text = FailureText(summary_line(benchmark="b" * 46))
    assert text.reprcrash.message == "a reason of many..."


@pytest.mark.usefixtures("log")
def test_a_summary_line_of_a_log_is_whole():
    assert FailureText(summary_line()).reprcrash.message == REASON


def written(text, *, hasmarkup=False):
    writer = Writer(hasmarkup=hasmarkup)
    text.toterminal(writer)
    return writer.lines


FAILURE = Failure(
    "why",
    [
        Line("FAIL  why", LineKind.REASON, Verdict.FAIL),
        Line("detail", LineKind.DETAIL),
        Line("9 more", LineKind.MORE),
        picture(),
    ],
)


@pytest.mark.usefixtures("log")
def test_verdicts_are_written_in_their_colours():
    assert written(FailureText(FAILURE))[:2] == [
        ("FAIL  why", {"red": True}),
        ("  ... 9 more (-v shows more)", {}),
    ]


@pytest.mark.usefixtures("log")
def test_styles_and_flags_of_pytest_decide_how_much_is_written():
    assert len(written(FailureText(FAILURE))) == 3
    assert written(FailureText(FAILURE, everything=True))[1] == ("detail", {})
    assert written(FailureText(FAILURE, style="short")) == [
        ("FAIL  why", {"red": True})
    ]
    assert written(FailureText(FAILURE, style="line")) == []


@pytest.mark.usefixtures("terminal")
def test_a_terminal_gets_links_and_lines():
    lines = [text for text, _ in written(FailureText(FAILURE, page=PAGE))]
    assert lines[1].startswith(f"  ... 9 more: \x1b]8;;{PAGE.address}\x1b\\")
    assert "●" in lines[2]


@pytest.mark.usefixtures("log")
def test_a_log_gets_no_links():
    lines = [text for text, _ in written(FailureText(FAILURE, page=PAGE))]
    assert lines[1] == "  ... 9 more: e/report.html#/a::b"


@pytest.mark.usefixtures("log")
def test_an_output_that_can_t_write_lines_gets_others(monkeypatch):
    monkeypatch.setattr(Output, "encoding", "ascii")
    lines = [text for text, _ in written(FailureText(FAILURE))]
    assert lines[2].startswith("  [------o-----]   :  |")


@pytest.mark.usefixtures("log")
def test_a_failure_fits_the_columns_of_pytest_s_writer():
    failure = Failure("why", [Line(WORDS, LineKind.REASON)])
    lines = [text for text, _ in written(FailureText(failure), hasmarkup=True)]
    assert lines == [" ".join(["word"] * 16), f"      {' '.join(['word'] * 14)}"]


def test_the_text_of_a_failure_is_whole():
    assert str(FailureText(FAILURE)).splitlines()[:2] == ["FAIL  why", "detail"]


def test_a_paragraph_shows_what_can_t_be_printed():
    texts = ["one two three", "a\nb\x1b"]
    assert shown_paragraph(texts, 9) == ["one two", "      three", "a", r"b\x1b"]
    assert shown_paragraph(texts, None) == ["one two three", "a", r"b\x1b"]


def test_each_verdict_has_a_colour_of_its_own():
    assert failure_layout.COLOURS == {
        Verdict.PASS: "green",
        Verdict.WARN: "yellow",
        Verdict.INCONCLUSIVE: "purple",
        Verdict.FAIL: "red",
    }
