"""The command group. Commands are imported when they are run, so that `--help` stays quick."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import threading
import traceback
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from sfumato.cli.output import emit, exit_code, gone, opened_streams, say, say_lines, was_made
from sfumato.visible import visible

EXIT_INPUT = 2  # your input
EXIT_CLAIM = 3  # the claim does not hold or cannot be reached
_STOPPED = (130, 143)  # by Ctrl-C, by SIGTERM

# name -> (where it is, one line for `sfumato --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("sfumato.cli.demo:demo", "The main job on the bundled Adult data."),
    "draft": ("sfumato.cli.draft:draft", "Propose a schema for a file and list what a person must decide."),
    "decide": ("sfumato.cli.decide:decide", "Answer the open questions of a drafted schema, one by one."),
    "check": ("sfumato.cli.check:check", "List every problem of a file and its schema at once."),
    "publish": ("sfumato.cli.publish:publish", "Make a release and save it with its claim."),
    "verify": ("sfumato.cli.verify:verify", "Check the claim of a release from the written files alone."),
    "measure": ("sfumato.cli.measure:measure", "Privacy and utility of a release, ours or anyone's."),
    "attack": ("sfumato.cli.attack:attack", "Find out what releases give away together."),
    "frontier": ("sfumato.cli.frontier:frontier", "Compare releases, find the efficient ones, recommend one."),
    "apply": ("sfumato.cli.apply:apply", "Put new rows through a public recoding."),
    "synthesize": (
        "sfumato.cli.synthesize:synthesize",
        "Make synthetic commuting patterns with a proved (epsilon, delta).",
    ),
    "finish": ("sfumato.cli.finish:finish", "Finish a release whose process ended before it had its folder."),
    "ledger": ("sfumato.cli.ledger:ledger", "What was published about whom, what it cost, what is left."),
    "serve": ("sfumato.cli.serve:serve", "Open the local web app."),
    "explain": ("sfumato.cli.explain:explain", "What a claim, requirement, measure or attack means, with its formula."),
}


class _Lazy(click.Group):
    """A group that knows its commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; if there is none, suggest one that is close to what was typed."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0].casefold(), COMMANDS, n=1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"No such command '{visible(args[0])[:60]}'.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sfumato", message="sfumato %(version)s")
def app() -> None:
    """Publish tables about people safely.

    Describe a table, make releases, attack and measure them, publish the chosen one with a claim
    that anyone can check. Every command has --help with an example and --json.

    Exit codes: 0 success, 2 invalid input, 3 the claim does not hold or cannot be reached.
    """


def _without_far_guesses(error: click.ClickException) -> click.ClickException:
    """Keep a suggested option only if it is close to what was typed."""
    if not isinstance(error, click.NoSuchOption):
        return error
    near = get_close_matches(error.option_name, error.possibilities or (), cutoff=0.75)
    return click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)


class _Terminated(BaseException):
    """SIGTERM was received: stop as on Ctrl-C, end the workers, and exit with code 143."""


_AGAIN = 0.05  # seconds


def _terminated(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: a second would interrupt the end
    raise _Terminated


def _dropped(found: Any) -> None:
    """Send a signal again whose exception came where Python drops exceptions, as in callbacks of a compiler.

    Without this it would be printed with a traceback, and the work would go on.
    """
    number = {_Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}.get(found.exc_type)
    if number is None:
        sys.__unraisablehook__(found)
        return
    if number == signal.SIGTERM:
        _on_sigterm(_terminated)
    again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _on_sigterm(handler: Any) -> Any:
    """Set what SIGTERM does; returns what it did before. Only a main thread may."""
    if threading.current_thread() is not threading.main_thread():
        return handler
    return signal.signal(signal.SIGTERM, signal.SIG_DFL if handler is None else handler)


def main(arguments: list[str] | None = None, *, command: click.Command = app, name: str = "sfumato") -> None:
    """Run the command line; errors are messages, never tracebacks (set SFUMATO_DEBUG=1 to see one)."""
    given = sys.argv[1:] if arguments is None else arguments
    opened_streams()
    before, hook = _on_sigterm(_terminated), sys.unraisablehook
    sys.unraisablehook = _dropped
    try:
        code = command.main(given, standalone_mode=False, prog_name=name)
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("Stopped.", error=True)
        code = _STOPPED[0]
    except click.ClickException as error:
        _misused(_without_far_guesses(error))
        code = EXIT_INPUT
    except SystemExit as stopped:
        code = stopped.code
        if code == 1:  # how click ends when nobody reads its help (`--help | true`)
            gone()
            code = 0
    except _Terminated:
        say("Stopped.", error=True)
        code = _STOPPED[1]
    except Exception as error:  # noqa: BLE001  (the last resort: a message instead of a traceback)
        if isinstance(error, OSError) and _of_click(error):  # its help, onto a full disk
            gone(error.errno or errno.EIO)
            code = 0
        else:
            code = _failed(error, as_json="--json" in given)
    _on_sigterm(before)
    sys.unraisablehook = hook
    if arguments is None and isinstance(code, int) and code in _STOPPED:
        _end_at_once(code)
    sys.exit(exit_code(code if isinstance(code, int) else 0))


def _end_at_once(code: int) -> None:
    """End the process without Python's own shutdown: with polars and numba loaded that takes a third of a second.

    What was registered for the end, such as temporary folders, is still done; threads that work are not waited for.
    """
    atexit._run_exitfuncs()  # noqa: SLF001  (what sys.exit does first)
    os._exit(exit_code(code))  # which flushes both streams


def _of_click(error: Exception) -> bool:
    """Return whether an error was raised in the module in which click prints."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1].f_globals.get("__name__") == "click.utils"


def _misused(error: click.ClickException) -> None:
    """Print what is wrong with the words that were typed, and where the help is."""
    context = getattr(error, "ctx", None)
    if context is not None:
        say_lines(context.get_usage(), error=True)
        say(f"Try '{context.command_path} {context.help_option_names[-1]}' for help.", error=True)
        say("", error=True)
    message = error.format_message()
    if isinstance(error, click.MissingParameter):  # our own names, one on a line
        say_lines(f"Error: {message}".expandtabs(2), error=True)
    else:
        say(f"Error: {message}", error=True)


def _failed(error: Exception, *, as_json: bool) -> int:
    """Print an error; ours with its message, any other by its type only, since it may quote a cell."""
    from sfumato.errors import BudgetExceeded, Infeasible, SfumatoError

    if os.environ.get("SFUMATO_DEBUG"):
        raise error
    done = was_made()
    hint = "run again with SFUMATO_DEBUG=1 and report what it prints"
    if done:  # a second run would make it twice and pay twice
        hint = "report it, and do not run the command again: the output already written is kept"
    if isinstance(error, SfumatoError):
        answer: dict[str, Any] = {"ok": False, **error.as_json()}
        code = EXIT_CLAIM if isinstance(error, (Infeasible, BudgetExceeded)) else EXIT_INPUT
        message = f"Error: {error}"
    else:
        answer = {
            "ok": False,
            "error": type(error).__name__,
            "message": "unexpected error",
            "hint": hint,
        }
        code = EXIT_INPUT
        message = f"Error: unexpected {type(error).__name__}. Hint: {hint}."
    if done:
        answer["made"] = done
        message += "".join(f"\nBefore that: {visible(sentence)}" for sentence in done)
    if as_json:
        emit(answer)
    else:
        say_lines(message, error=True)
    return code
