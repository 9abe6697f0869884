"""`errands completion`: a script that completes verbs, tasks, learners and options in a shell."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from errands.cli.tell import Answer
from errands.cli.verbs import VERBS, Positional, options_of

BASH = """_errands() {
  local verb="${COMP_WORDS[1]}" word="${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="@verbs@"; else
    case "$verb" in
@cases@
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ -n "$COMPREPLY" ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _errands errands"""
FISH = "complete -c errands -f -n '__fish_use_subcommand' -a '@verbs@'"


@dataclass(frozen=True)
class Arguments:
    """Print a completion script."""

    shell: Positional[Literal["bash", "zsh", "fish"]] = "bash"
    """The shell; put `eval "$(errands completion bash)"` into its start-up file."""


def run(arguments: Arguments) -> Answer:
    """Write the script from the verbs themselves."""
    script = _fish() if arguments.shell == "fish" else _bash()
    if arguments.shell == "zsh":
        script = "autoload -U +X bashcompinit && bashcompinit\n" + script
    return Answer({"shell": arguments.shell, "script": script}, script)


def words_of(verb: str) -> list[str]:
    """What can follow a verb: tasks and learners where it takes them, then its options."""
    from errands.learners import LEARNERS
    from errands.tasks.catalogue import CATALOGUE

    kind = import_module(f"errands.cli.{verb}").Arguments
    names = [option.name for option in options_of(kind)]
    options = [option.flag for option in options_of(kind) if not option.placed]
    tasks = [e.named(max(2, e.low)) for e in CATALOGUE] if "task" in names else []
    return [*tasks, *(LEARNERS if "learner" in names else ()), *options, "--import", "--json", "--help"]


def _bash() -> str:
    cases = "\n".join(f'      {verb}) words="{" ".join(words_of(verb))}";;' for verb in VERBS)
    return BASH.replace("@verbs@", " ".join(VERBS)).replace("@cases@", cases)


def _fish() -> str:
    lines = [FISH.replace("@verbs@", " ".join(VERBS))]
    for verb in VERBS:
        lines.append(f"complete -c errands -n '__fish_seen_subcommand_from {verb}' -a '{' '.join(words_of(verb))}'")
    return "\n".join(lines)
