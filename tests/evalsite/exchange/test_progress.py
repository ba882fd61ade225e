"""The progress bar: silent on short work, one line on a terminal, few lines in a log."""

from collections.abc import Callable

from evalsite.exchange.progress import Bar


class Screen:
    def __init__(self, *, terminal: bool) -> None:
        self.text = ""
        self._terminal = terminal

    def write(self, text: str, style: Callable[[str], str], ending: str, /) -> None:
        self.text += style(text) + ending

    def isatty(self) -> bool:
        return self._terminal

    def flush(self) -> None:
        pass


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def draw(*, terminal: bool, seconds: float, step: float = 0.01) -> str:
    screen, clock = Screen(terminal=terminal), Clock()
    with Bar(screen, "Reading", clock=clock) as bar:
        for i in range(round(seconds / step)):
            clock.now = i * step
            bar(i, round(seconds / step))
    return screen.text


def test_short_work_shows_nothing() -> None:
    assert draw(terminal=True, seconds=0.9) == ""
    assert draw(terminal=False, seconds=0.9) == ""


def test_a_terminal_gets_one_line_redrawn_ten_times_a_second_and_cleared_at_the_end() -> None:
    text = draw(terminal=True, seconds=4)
    assert "\n" not in text
    assert 25 <= text.count("\rReading [") <= 32
    assert "[#########.....................]  30%" in text
    last = text.rsplit("\r", 2)
    assert last[1].strip() == ""
    assert last[2] == ""


def test_a_log_gets_a_line_every_ten_seconds() -> None:
    assert draw(terminal=False, seconds=25, step=0.5) == "Reading 4%\nReading 44%\nReading 84%\n"


def test_work_of_unknown_size_is_not_drawn() -> None:
    screen, clock = Screen(terminal=True), Clock()
    bar = Bar(screen, "Reading", clock=clock)
    clock.now = 5
    bar(3, 0)
    bar.close()
    assert screen.text == ""
