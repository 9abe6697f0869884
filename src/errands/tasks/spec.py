"""Task files: TOML, checked by a schema that reports every problem at once."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator, model_validator

from errands import worlds
from errands.errors import ErrandsError, SpecError, UnknownName
from errands.machines.numeric import NumericRM
from errands.machines.rules import write_rules
from errands.tasks.ltlf import from_ltlf
from errands.tasks.phrases import parse_phrase
from errands.tasks.task import Task
from errands.worlds.base import Count, Limit, World, world_class
from errands.worlds.imports import NAMELESS, check_id

MAX_BYTES = 1_000_000
MAX_DOTS = 64


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class WorldSpec(_Table):
    """The [world] table of any kind."""

    kind: str


Entry = Annotated[int, Field(ge=0)]
Numbers = Annotated[list[float], Field(min_length=1, max_length=64)]


class Region(_Table):
    """A feature of numbers of the flattened observation: between bounds, or nearer than a radius to a centre."""

    index: Entry | Annotated[list[Entry], Field(min_length=1, max_length=64)]
    above: float | Numbers | None = None
    below: float | Numbers | None = None
    centre: float | Numbers | None = None
    radius: float | None = None


Reference = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=200)]
"""A function of a module that the user has allowed."""


class EntrySpec(_Table):
    """An entry of the flattened observation."""

    index: Entry


class GymnasiumSpec(WorldSpec):
    """Any Gymnasium environment; code (`module:name`) is used only where the user has allowed its module."""

    kind: Literal["gymnasium"]
    id: str = Field(min_length=1, max_length=200)
    kwargs: dict[str, bool | int | float | str] = {}
    features: dict[str, list[int] | Region] | Reference
    state: Reference | None = None
    signals: list[str] | dict[str, str] = []
    numbers: list[str] | dict[str, str | EntrySpec] = []
    """Whole numbers for gauges: names of `info["numbers"]`, `moves`, `{ index = 0 }` of the observation, or functions."""
    limit: Limit | None = None
    step_seconds: Annotated[float, Field(gt=0)] | None = None


class JaxSpec(WorldSpec):
    """A world of JAX functions `module:name`, of modules that the user has allowed."""

    kind: Literal["jax"]
    reset: Reference
    step: Reference
    features: dict[str, Reference] | Reference
    actions: Count
    observe: Reference | None = None
    signals: dict[str, Reference] | Reference | None = None
    limit: Limit = 1_000


class PartsSpec(_Table):
    """Parts of a task, each a list of subtasks, and a number of them."""

    number: int = Field(ge=1, le=4_096)
    of: list[list[str]] = Field(min_length=1)


class GaugeSpec(_Table):
    """A number that only falls: the world reports it or, with `each`, it falls by one in every step in which that holds."""

    start: int = Field(alias="from")
    bound: int = Field(alias="to", default=0)
    each: str | None = None


class MachineSpec(_Table):
    """A numeric machine: transitions in the paper's notation, a phrase, or a formula of LTLf."""

    phrase: str | None = None
    ltlf: str | None = None
    initial: str | None = None
    success: list[str] = []
    failure: list[str] = []
    numeric: dict[str, list[str] | GaugeSpec] = {}
    transitions: list[str] = []
    completing: dict[str, list[str]] = {}
    """Numeric features that are completed in a state, where its guards do not say so: `u1 = ["b"]`, or `[]` for none."""
    before: list[list[str]] = []
    """Pairs of subtasks: the second opens when the first is done; `a#2` is the second of two that are called a."""
    apart: list[list[str]] = []
    """The same for two visits: the second opens when the feature of the first has been false as well."""
    choose: list[PartsSpec] = []
    """So many of these parts are enough; the others no longer remain then. An inner choice stands before an outer one."""
    capacity: list[PartsSpec] = []
    """At most so many of these parts are begun and not done at any time."""

    @model_validator(mode="after")
    def _one_way(self) -> MachineSpec:
        rules = self.completing or self.before or self.apart or self.choose or self.capacity
        written = bool(self.initial or self.success or self.failure or self.numeric or self.transitions or rules)
        if written + (self.phrase is not None) + (self.ltlf is not None) != 1:
            raise ValueError("give one of phrase, ltlf, or initial, success and transitions")
        if written and not (self.initial and self.transitions):
            raise ValueError("initial and transitions are both needed")
        return self


class _UnknownKind(WorldSpec):
    """A [world] table whose kind is none, of which no other key can be judged."""

    model_config = ConfigDict(extra="allow")

    @field_validator("kind")
    @classmethod
    def _named(cls, kind: str) -> str:
        raise ValueError(str(UnknownName("kind of world", kind[:60], worlds.KINDS)))


class TaskSpec(_Table):
    """One task file."""

    name: str = Field(min_length=1, max_length=200)
    world: WorldSpec
    machine: MachineSpec


def table_of(kind: str) -> type[WorldSpec]:
    """The [world] table of a kind, as its class describes it: a key for each setting, with its type, bounds and default."""
    if kind in ("gymnasium", "jax"):
        return GymnasiumSpec if kind == "gymnasium" else JaxSpec
    cls = world_class(kind)
    hints = get_type_hints(cls.__init__, include_extras=True)
    keys: dict[str, Any] = {"kind": (Literal.__getitem__(kind), ...)}
    for name, setting in inspect.signature(cls).parameters.items():
        default = ... if setting.default is setting.empty else {} if name in ("legend", "numbers") else setting.default
        # What can be said in two ways is checked by the class itself, whose sentence says one thing and not two.
        keys[name] = (Any if kind == "grid" and name in ("slip", "walls") else hints[name], default)
    if kind == "grid":  # this key belongs to the task
        keys["removed"] = (list[str], [])
    return create_model(f"{cls.__name__}Table", __base__=WorldSpec, __doc__=(cls.__doc__ or "").partition("\n\n")[0], **keys)


@cache
def _file_of(kind: str) -> type[TaskSpec]:
    """Task files with this kind of world ("" for none that is known); only its own module is loaded."""
    table = table_of(kind) if kind else _UnknownKind
    return create_model("TaskSpec", __base__=TaskSpec, __doc__=TaskSpec.__doc__, world=(table, ...))


def read_task(text: str) -> Task:
    """The task that a text describes; every problem is reported at once."""
    spec = read_spec(text)
    problems: list[str] = []
    machine, world = None, None
    try:
        machine = make_machine(spec.machine)
    except SpecError as fault:
        problems += [f"machine: {p}" for p in fault.problems]
    try:
        names, signals = ((), ()) if machine is None else (machine.features, machine.signals)
        world = make_world(spec.world, names, signals)
    except SpecError as fault:
        problems += [f"world: {p}" for p in fault.problems]
    if machine is None or world is None:
        raise SpecError("; ".join(problems), problems)
    removed = spec.world.model_dump().get("removed", ())
    return Task(spec.name, world, machine, tuple(removed), text)


def read_spec(text: str) -> TaskSpec:
    """The checked tables of a task file, before anything is made of them."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise SpecError(f"a task file has at most {MAX_BYTES:,} bytes; this one is larger")
    if _most_dots(text) > MAX_DOTS:
        raise SpecError(f"the file has a key with more than {MAX_DOTS} dots; a task file has three levels")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:
        raise SpecError(f"the file is not TOML: {str(fault)[:200]}") from None
    if (digits := _longest_number(data)) > 64:
        raise SpecError(f"the file has a whole number of {digits} binary digits; numbers have at most 64")
    try:
        kind = data["world"].get("kind") if isinstance(data.get("world"), dict) else None
        return _file_of(kind if isinstance(kind, str) and kind in worlds.KINDS else "").model_validate(data)
    except ValidationError as fault:
        problems = list(dict.fromkeys(_sentences(fault)))
        raise SpecError("; ".join(problems), problems) from None
    except RecursionError:
        raise SpecError("the file is nested too deeply; a task file has three levels") from None


def _sentences(fault: ValidationError) -> Iterator[str]:
    for error in fault.errors(include_url=False, include_context=False):
        where = ".".join(str(p)[:60] for p in error["loc"])
        came = "" if error["type"] in ("missing", "value_error") else f" (came: {_shown(error['input'])})"
        message = str(error["msg"]).removeprefix("Value error, ")
        message = message.replace(
            "Extra inputs are not permitted", "this key is not known here; remove it or check its spelling"
        )
        message = re.sub(r"a valid dictionary or instance of \w+", "a table", message)
        message = message.replace("'str' instances are not allowed as a Sequence value", "Input should be a valid list")
        message = message.replace("Field required", "this key is missing; add it")
        yield f"{where or 'the file'}: {message[:1].lower()}{message[1:]}{came}"


def _shown(value: object) -> str:
    return "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(str(value)[:60])


def _longest_number(data: object) -> int:
    """The binary digits of the largest whole number in the tables; printing a very long one is refused by Python."""
    longest, stack = 0, [data]
    while stack:
        value = stack.pop()
        if isinstance(value, int):
            longest = max(longest, value.bit_length())
        elif isinstance(value, dict | list):
            stack.extend(value.values() if isinstance(value, dict) else value)
    return longest


def _most_dots(text: str) -> int:
    """The length of the longest dotted key, roughly: reading one takes the square of it."""
    plain = re.sub(r'"[^"\n]*"|\'[^\'\n]*\'', "", text)
    return max(part.count(".") for part in re.split(r"[^\w.\- \t]", plain))


def make_machine(spec: MachineSpec) -> NumericRM:
    """The numeric machine of a checked table."""
    if spec.phrase is not None:
        return parse_phrase(spec.phrase)
    if spec.ltlf is not None:
        return from_ltlf(spec.ltlf)
    choose, capacity = ([(group.number, group.of) for group in named] for named in (spec.choose, spec.capacity))
    numeric = {
        name: one.model_dump(by_alias=True) if isinstance(one, GaugeSpec) else one for name, one in spec.numeric.items()
    }
    return NumericRM.of(
        spec.initial or "", spec.success, spec.transitions, spec.failure, numeric,
        before=spec.before, apart=spec.apart, choose=choose, capacity=capacity, completing=spec.completing,
    )  # fmt: skip


def make_world(spec: WorldSpec, names: Sequence[str] = (), signals: Sequence[str] = ()) -> World:
    """The world of a checked table. `names` and `signals` are what a machine asks for."""
    given: dict[str, Any] = {name: value for name, value in spec if name not in ("kind", "removed")}
    if isinstance(spec, GymnasiumSpec):
        from errands.worlds.gymnasium.world import with_reward

        if ":" not in spec.id:  # in Python a user may give any id that is registered, a file only what he has allowed
            check_id(spec.id)
        given["names"] = names
        if isinstance(spec.numbers, dict):
            given["numbers"] = {n: {"index": v.index} if isinstance(v, EntrySpec) else v for n, v in spec.numbers.items()}
        if spec.state is not None:
            given["signals"] = with_reward(spec.signals, signals)
        if not isinstance(spec.features, str):
            given["features"] = {
                name: value if isinstance(value, list) else value.model_dump(exclude_none=True)
                for name, value in spec.features.items()
            }
    try:
        return worlds.make_world(spec.kind, given)
    except SpecError:
        raise
    except ErrandsError as fault:
        raise SpecError(str(fault)) from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of task files, for editors."""
    tables: Any = Annotated[Union[tuple(map(table_of, worlds.KINDS))], Field(discriminator="kind")]  # noqa: UP007
    whole = create_model("TaskSpec", __base__=TaskSpec, __doc__=TaskSpec.__doc__, world=(tables, ...))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole.model_json_schema()}


def write_task(task: Task, strict: bool = True) -> str:
    """A task file for a task that was made in Python; what none can hold is refused, or marked where not `strict`."""
    from json import dumps

    def toml(value: object) -> str:
        if isinstance(value, Mapping):
            return "{ " + ", ".join(f"{dumps(str(k))} = {toml(v)}" for k, v in value.items() if v is not None) + " }"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(toml(v) for v in value) + "]"
        if isinstance(value, float):
            return repr(float(value))  # TOML has inf and nan, which JSON has not
        return dumps(value, ensure_ascii=False)

    machine = task.machine
    functions = [str(reward) for reward in machine.compounds if reward.function is not None]
    if functions and strict:
        raise SpecError(f"a task file cannot hold the function {functions[0]} as a reward; write a sum of signals")
    lines = [f"name = {toml(task.name)}", "", "[world]", f"kind = {toml(task.world.kind)}"]
    lines += [f"{key} = {toml(value)}" for key, value in task.world.settings(strict).items() if value is not None]
    if task.removed:
        lines.append(f"removed = {toml(task.removed)}")
    if machine.phrase is not None:
        return "\n".join([*lines, "", "[machine]", f"phrase = {toml(str(machine.phrase))}", ""])
    lines += ["", "[machine]", f"initial = {toml(machine.initial)}", f"success = {toml(machine.success)}"]
    lines += [f"# a reward is {toml(f'{NAMELESS}:{function}')}" for function in functions]
    lines += [f"failure = {toml(machine.failure)}", f"numeric = {toml(machine.declared)}", "transitions = ["]
    lines += [f"  {toml(str(t))}," for t in machine.transitions]
    rules = ({"completing": machine.restated} if machine.restated else {}) | write_rules(machine.counted, machine.rules)
    return "\n".join([*lines, "]", *(f"{key} = {toml(value)}" for key, value in rules.items()), ""])
