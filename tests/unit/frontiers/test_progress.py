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
    now[0] = 10.0
    tell(0.75, "39/52")
    assert written == ["75 % done, about 10 s left: 39/52"]


def test_a_name_cannot_move_the_cursor():
    now, written = [0.0], []
    tell = ProgressLines(written.append, clock=lambda: now[0])
    now[0] = 3.0
    tell(0.5, "a\x1b[2Jb\n")
    assert "\x1b" not in written[0]
    assert "\n" not in written[0]


def test_time_left():
    assert [time_left(0.5, 10), time_left(0.1, 60), time_left(0.001, 1), time_left(1, 9)] == ["10 s", "9 min", "", ""]
