"""The command `errands`: one verb, one module; errors are one sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from errands.cli.verbs import VERBS, help_text, parse
from errands.errors import ConfigError, ErrandsError, RunFailed, UnknownName, shown_briefly
from errands.runs.interrupts import exit_code, terminable
from errands.terminal import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 the task or run failed, 2 the input is wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # JAX warns of every child process; those that are begun here (ffmpeg, wandb) become another program at once.
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe of another encoding than UTF-8: what it cannot show is written out, as in \u2193.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    debug = "--debug" in words
    as_json = "--json" in words
    words = [w for w in words if w not in ("--debug", "--json")]
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if words[0] in ("--version", "version"):
        from errands import __version__

        print(f"errands {__version__}")
        return 0
    try:
        with terminable():
            return _verb(words[0], words[1:], as_json)
    except KeyboardInterrupt as stop:
        print(f"errands: {str(stop) or 'interrupted'}", file=sys.stderr)
        return exit_code(stop)
    except BrokenPipeError:
        # The reader is gone, as after `| head`; whatever Python would complain of at its end goes nowhere.
        sys.stderr.close()
        return 0
    except Exception as fault:  # the last net: whatever is raised is told in one sentence
        if debug:
            raise
        sentence, code = (str(fault), 2) if isinstance(fault, ErrandsError) else (_surprise(fault, words), 1)
        code = 1 if isinstance(fault, RunFailed) else code
        if as_json:
            _print_json({"error": sentence})
        print(f"errands: {printable(sentence)}", file=sys.stderr)
        return code


def _surprise(fault: Exception, words: list[str]) -> str:
    """What to say about a fault that nobody foresaw: where it happened, that runs are safe, and what to report."""
    import shlex
    import traceback
    from pathlib import Path

    here = Path(__file__).parent.parent
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if Path(f.filename).is_relative_to(here)]
    where = f" in {Path(frames[-1].filename).relative_to(here.parent)}, line {frames[-1].lineno}" if frames else ""
    said = shown_briefly(str, fault, 200)
    return (
        f"a fault of errands itself, {type(fault).__name__}{where}{f': {said}' if said else ''}; what was trained is stored. "
        f"Please report what '{shlex.join(['errands', *words])[:200]} --debug' and 'errands doctor' print"
    )


def _verb(name: str, words: list[str], as_json: bool) -> int:
    if name not in VERBS:
        raise UnknownName("verb", name, VERBS)
    from importlib import import_module

    # Task files and run folders may name code but never run it: this option lets it in, before any of them is read.
    verb, (words, imports) = VERBS[name], _imports(words)
    if imports and "--help" not in words:
        from errands.worlds.imports import allow

        allow(imports)
    # Only the module of this verb: the others would make every start slower.
    module = import_module(f"errands.cli.{name}")
    arguments = parse(module.Arguments, name, verb, words)
    quiet = _one_document() if as_json else nullcontext()
    with quiet, _compiling() if verb.compiles and "--quiet" not in words else nullcontext():
        answer = module.run(arguments)
    if as_json:
        _print_json(answer.document)
    elif isinstance(answer.shown, str):
        print(printable(answer.shown))
    else:
        from errands.terminal import show

        show(answer.shown)
    return int(answer.code)


def _imports(words: list[str]) -> tuple[list[str], list[str]]:
    """The words without `--import MODULE`, and the modules."""
    rest, names, waiting = [], list[str](), iter(words)
    for word in waiting:
        option, equals, value = word.partition("=")
        if option != "--import":
            rest.append(word)
        elif given := value if equals else next(waiting, ""):
            names += given.split(",")
        else:
            raise ConfigError("--import names no module; write it as --import kitchen")
    return rest, names


@contextmanager
def _compiling() -> Iterator[None]:
    """Say so, once, as soon as something must be compiled that no cache holds: half a minute of silence looks like a fault."""
    from errands.kernels import PLAIN, when_compiling

    def on_compile(kernel: str) -> None:
        spent = "15 seconds" if PLAIN else "8 seconds"
        print(f"compiling what this needs, once: about {spent}", file=sys.stderr, flush=True)

    with when_compiling(on_compile):
        yield


@contextmanager
def _one_document() -> Iterator[None]:
    """Nothing but the answer goes to standard output: what environments and C libraries print meanwhile goes to the errors."""
    try:
        sys.stdout.flush()
        aside = os.dup(1)
        os.dup2(2, 1)
    except (OSError, ValueError):  # one of the two is closed
        yield
        return
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(aside, 1)
        os.close(aside)


def _print_json(document: Any) -> None:
    """One document, letters as they are; what a terminal would obey is escaped as JSON allows."""
    import json

    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower() not in ("utf-8", "utf8")
    text = json.dumps(document, ensure_ascii=plain, indent=1, allow_nan=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    print(text)
