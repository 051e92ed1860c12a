"""Progress in lines: rare, with a time left that follows from what was done."""

from __future__ import annotations

from sfumato.frontiers.progress import ProgressLines, time_left


def test_lines_are_rare_and_say_how_long_it_will_take():
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    tell(0.0, "starting")
    for at in range(1, 101):
        now[0] = at / 10
        tell(at / 100, f"{at}/100 release")
    assert written == [
        "20 % done, about 8 s left: 20/100 release",
        "40 % done, about 6 s left: 40/100 release",
        "60 % done, about 4 s left: 60/100 release",
        "80 % done, about 2 s left: 80/100 release",
        "100 % done: 100/100 release",
    ]


def test_what_was_kept_takes_no_time():
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    tell(0.5, "26 kept")
    for at in range(1, 6):
        now[0] = 2.0 * at
        tell(0.5 + at / 20, f"{26 + at}/52")
    assert written[-1] == "75 % done, about 10 s left: 31/52"


def test_no_time_is_told_before_enough_is_measured_and_then_from_the_last_steps():
    """After two of 23 releases it said 207 minutes, and it took three: the first wait for processes that start."""
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    tell(0.0, "starting")
    now[0] = 500.0
    tell(0.0, "0/20, now making the first")
    assert written == ["0 % done: 0/20, now making the first"]
    for at in range(1, 16):
        now[0] = 600.0 + 3 * at
        tell(at / 20, f"{at}/20")
    assert ["left" in line for line in written[1:]] == [False] * 4 + [True] * 11
    assert written[-1] == "75 % done, about 15 s left: 15/20"


def test_a_name_cannot_move_the_cursor():
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    now[0] = 3.0
    tell(0.5, "a\x1b[2Jb\n")
    assert "\x1b" not in written[0]
    assert "\n" not in written[0]


def test_time_left():
    assert [time_left(0.5, 10), time_left(0.1, 60), time_left(0.001, 1), time_left(1, 9)] == ["10 s", "9 min", "", ""]


def test_a_line_is_written_for_a_change_and_each_half_minute_without_one():
    """Piped into a file, the same line came every two seconds."""
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    for at in range(61):
        now[0] = 2.0 + at
        tell(0.0, "0/20, now making the first")
    assert written == ["0 % done: 0/20, now making the first"] * 3  # after 2, 32 and 62 seconds
    now[0] += 2.0
    tell(0.05, "1/20")
    assert written[-1] == "5 % done: 1/20"
