"""Networks without JAX: the program that JAX made of one, as a list of some forty operations that numpy carries out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.errors import TaskError, words_of

Array = NDArray[Any]
MAX_LINES = 10_000
MAX_WORK, MAX_MADE = 1 << 31, 1 << 26
"""Numbers that a program may multiply for one action, and those that it may make: they are kept until the end."""
_DTYPES = {np.dtype(word).str for word in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}


def write_program(closed: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A jaxpr as plain data: numbered values, constants as arrays, inner functions written out."""
    lines: list[list[Any]] = []
    arrays: dict[str, Array] = {}
    count = 0

    def fresh() -> int:
        nonlocal count
        count += 1
        return count - 1

    def constant(value: Any) -> int:
        number = fresh()
        arrays[f"c{number}"] = np.asarray(value)
        return number

    def inline(jaxpr: Any, names: dict[Any, int]) -> list[int]:
        def number(atom: Any) -> int:
            return constant(np.asarray(atom.val)) if hasattr(atom, "val") else names[atom]

        for equation in jaxpr.eqns:
            inputs = [number(atom) for atom in equation.invars]
            name, parameters = equation.primitive.name, equation.params
            inner = parameters.get("jaxpr") or parameters.get("call_jaxpr")
            if inner is not None and name in ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"):
                own = {var: constant(value) for var, value in zip(inner.jaxpr.constvars, inner.consts, strict=True)}
                own |= dict(zip(inner.jaxpr.invars, inputs, strict=True))
                outputs = inline(inner.jaxpr, own)
            else:
                if name not in _OPERATIONS or not _known(name, parameters):
                    raise TaskError(f"the network uses '{name}', which policy files do not know; keep the run folder instead")
                outputs = [fresh() for _ in equation.outvars]
                lines.append([name, inputs, outputs, _plain(name, parameters)])
            names |= dict(zip(equation.outvars, outputs, strict=True))
        return [number(atom) for atom in jaxpr.outvars]

    names = {var: constant(value) for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)}
    inputs = [fresh() for _ in closed.jaxpr.invars]
    outputs = inline(closed.jaxpr, names | dict(zip(closed.jaxpr.invars, inputs, strict=True)))
    # What no output needs is left out: of a learner that trains, most constants are its replay buffer.
    needed, kept = set(outputs), []
    for line in reversed(lines):
        if needed.intersection(line[2]):
            needed.update(line[1])
            kept.append(line)
    arrays = {name: value for name, value in arrays.items() if int(name[1:]) in needed}
    return {"inputs": inputs, "outputs": outputs, "lines": kept[::-1]}, arrays


_PARAMETERS = (
    "shape", "broadcast_dimensions", "dimension_numbers", "new_sizes", "dimensions", "axes", "dimension", "new_dtype", "dtype",
    "slice_sizes", "index_dtype", "permutation", "start_indices", "limit_indices", "strides", "y", "axis",
    "window_strides", "padding",
)  # fmt: skip


def _known(name: str, parameters: Mapping[str, Any]) -> bool:
    """Whether an operation is used as numpy carries it out here: convolutions neither dilated nor in groups."""
    if name != "conv_general_dilated":
        return True
    apart = (*parameters["lhs_dilation"], *parameters["rhs_dilation"])
    return {*apart, parameters["feature_group_count"], parameters["batch_group_count"]} == {1}


def _plain(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key in _PARAMETERS:
        value = parameters.get(key)
        if value is not None:
            plain[key] = np.dtype(value).str if key.endswith("dtype") else json.loads(json.dumps(value, default=int))
    return plain


class Program:
    """A list of operations on numbered values, carried out in numpy.

    Shapes never depend on values: where a program runs once on inputs of these shapes, and costs little, it always does.
    """

    def __init__(self, about: Mapping[str, Any], arrays: Mapping[str, Array], inputs: Sequence[Any]) -> None:
        self.inputs, self.outputs, self.lines = about["inputs"], about["outputs"], about["lines"]
        self.constants = {int(name[1:]): value for name, value in arrays.items() if name.startswith("c")}
        known = [*self.constants, *self.inputs, *(target for _, _, (target,), _ in self.lines)]
        if len(set(known)) != len(known) or not all(type(number) is int for number in known) or len(self.lines) > MAX_LINES:
            raise ValueError("a program defines a value twice, or none")
        work = made = 0
        values: dict[int, Any] = {**self.constants, **dict(zip(self.inputs, inputs, strict=True))}
        for name, sources, (target,), parameters in self.lines:
            if not _DTYPES.issuperset(value for key, value in parameters.items() if key.endswith("dtype")):
                raise ValueError("a program makes numbers of a kind that networks have not")
            seen = [np.asarray(values[k]) for k in sources]
            makes, multiplies = _work(name, parameters, *seen)
            made, work = made + makes, work + max(makes, multiplies)
            if work > MAX_WORK or made > MAX_MADE:
                raise ValueError("a program does more than networks do")
            with np.errstate(all="ignore"):
                values[target] = _OPERATIONS[name](parameters, *seen)
            if values[target].dtype.kind not in "biuf":
                raise ValueError("a program makes what are no numbers")
        self.example = [np.asarray(values[k]) for k in self.outputs]
        """The outputs for the inputs that it was tried on."""

    def __call__(self, *inputs: Any) -> list[Any]:
        """The outputs for these inputs."""
        values: dict[int, Any] = {**self.constants, **dict(zip(self.inputs, inputs, strict=True))}
        try:
            with np.errstate(all="ignore"):
                for name, sources, (target,), parameters in self.lines:
                    values[target] = _OPERATIONS[name](parameters, *(np.asarray(values[k]) for k in sources))
        except (ValueError, OverflowError) as fault:  # what was well for the inputs that it was tried on need not be for others
            raise TaskError(f"the network of the policy file fails here ({words_of(fault, 80)}); export the policy again") from None
        return [values[k] for k in self.outputs]


def _work(name: str, p: Mapping[str, Any], *inputs: Array) -> tuple[int, int]:
    """How many numbers an operation makes and multiplies, before it does."""
    if name in ("broadcast_in_dim", "iota"):
        return (_size(p["shape"]), 0)
    if name == "dot_general":
        (left, right), (_, batch) = p["dimension_numbers"]
        (x, y), inner = (_size(array.shape) for array in inputs), _size(inputs[0].shape[i] for i in left)
        shared = _size(inputs[1].shape[i] for i in (*right, *batch))
        return x * y // (shared * inner), x * y // shared
    if name == "conv_general_dilated":
        seen, weights, _ = p["dimension_numbers"]
        pictures, filters = (tuple(array.shape[i] for i in axes) for array, axes in zip(inputs, (seen, weights), strict=True))
        padded = [n + low + high for n, (low, high) in zip(pictures[2:], p["padding"], strict=True)]
        places = [(n - k) // stride + 1 for n, k, stride in zip(padded, filters[2:], p["window_strides"], strict=True)]
        windows = _size((pictures[0], *places, *filters[1:]))
        return _size((*pictures[:2], *padded)) + windows + _size((pictures[0], filters[0], *places)), windows * filters[0]
    if name in _FREE:
        return sum(x.size for x in inputs), 0
    return _size(np.broadcast_shapes(*(x.shape for x in inputs))), 0


def _size(shape: Iterable[int]) -> int:
    """The numbers of an array; an axis without any counts as one, since an operation can leave it out of what it makes."""
    return math.prod(max(abs(int(n)), 1) for n in shape)


def _broadcast(p: Mapping[str, Any], x: Array, *_: Array) -> Array:
    shape = [1] * len(p["shape"])
    for source, target in enumerate(p["broadcast_dimensions"]):
        shape[target] = x.shape[source]
    return np.broadcast_to(x.reshape(shape), p["shape"])


def _dot(p: Mapping[str, Any], x: Array, y: Array) -> Array:
    (left, right), (batch_left, batch_right) = p["dimension_numbers"]
    free_left = [i for i in range(x.ndim) if i not in left and i not in batch_left]
    free_right = [i for i in range(y.ndim) if i not in right and i not in batch_right]
    # Axes in the order batch, free, summed on the left and batch, summed, free on the right: then one matmul does it.
    a = x.transpose([*batch_left, *free_left, *left])
    b = y.transpose([*batch_right, *right, *free_right])
    batch = a.shape[: len(batch_left)]
    inner = int(np.prod([x.shape[i] for i in left], initial=1))
    shape = (*batch, *(x.shape[i] for i in free_left), *(y.shape[i] for i in free_right))
    rows, columns = (int(np.prod([z.shape[i] for i in free], initial=1)) for z, free in ((x, free_left), (y, free_right)))
    return np.asarray(np.matmul(a.reshape(*batch, rows, inner), b.reshape(*batch, inner, columns)).reshape(shape))


def _convolve(p: Mapping[str, Any], pictures: Array, filters: Array) -> Array:
    """A convolution without dilation or groups, over any number of axes."""
    seen, weights, shown = p["dimension_numbers"]
    # In JAX's words the axes of batch (of outputs, in filters) and channels come first, those of the picture after them.
    x, w = pictures.transpose(seen), filters.transpose(weights)
    axes = tuple(range(2, x.ndim))
    padded = np.pad(x, [(0, 0), (0, 0), *p["padding"]])
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axes)
    windows = windows[(slice(None), slice(None), *(slice(None, None, stride) for stride in p["window_strides"]))]
    inner = tuple(range(x.ndim, 2 * x.ndim - 2))
    # [batch, places..., outputs]: channels and the window's own axes are summed up.
    result = np.moveaxis(np.tensordot(windows, w, ((1, *inner), (1, *axes))), -1, 1)
    return result.transpose(np.argsort(shown))


def _cut(p: Mapping[str, Any], x: Array, *starts: Array) -> Array:
    sizes = p["slice_sizes"]
    # JAX moves a slice that would leave the array back inside; numpy would cut it short.
    begins = [int(np.clip(int(s), 0, n - size)) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(b, b + size) for b, size in zip(begins, sizes, strict=True))]


def _select(p: Mapping[str, Any], which: Array, *cases: Array) -> Array:
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases, mode="clip")


def _slice(p: Mapping[str, Any], x: Array) -> Array:
    strides = p.get("strides") or [1] * x.ndim
    return x[tuple(slice(*part) for part in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _iota(p: Mapping[str, Any]) -> Array:
    shape = [1] * len(p["shape"])
    shape[p["dimension"]] = -1
    return np.broadcast_to(np.arange(p["shape"][p["dimension"]], dtype=p["dtype"]).reshape(shape), p["shape"])


def _divided(p: Mapping[str, Any], x: Array, y: Array) -> Array:
    if np.issubdtype(x.dtype, np.integer):
        # JAX divides whole numbers towards zero, numpy's // downwards.
        return np.asarray(np.trunc(x / y).astype(x.dtype))
    return np.asarray(x / y)


def _simple(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p, *inputs: function(*inputs)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": _simple(np.add), "sub": _simple(np.subtract), "mul": _simple(np.multiply), "div": _divided, "rem": _simple(np.fmod),
    "max": _simple(np.maximum), "min": _simple(np.minimum), "neg": _simple(np.negative), "abs": _simple(np.abs),
    "exp": _simple(np.exp), "log": _simple(np.log), "tanh": _simple(np.tanh), "sqrt": _simple(np.sqrt),
    "square": _simple(np.square), "sign": _simple(np.sign), "floor": _simple(np.floor),
    "rsqrt": _simple(lambda x: (1 / np.sqrt(x)).astype(x.dtype)), "logistic": _simple(lambda x: 1 / (1 + np.exp(-x))),
    "lt": _simple(np.less), "le": _simple(np.less_equal), "gt": _simple(np.greater), "ge": _simple(np.greater_equal),
    "eq": _simple(np.equal), "ne": _simple(np.not_equal), "and": _simple(np.bitwise_and), "or": _simple(np.bitwise_or),
    "not": _simple(np.invert), "xor": _simple(np.bitwise_xor), "is_finite": _simple(np.isfinite),
    "clamp": _simple(lambda low, x, high: np.clip(x, low, high)), "pow": _simple(np.power),
    "stop_gradient": _simple(lambda x: x), "copy": _simple(lambda x: x), "copy_p": _simple(lambda x: x),
    "integer_pow": lambda p, x: x ** p["y"],
    "broadcast_in_dim": _broadcast, "dot_general": _dot, "conv_general_dilated": _convolve, "dynamic_slice": _cut,
    "select_n": _select, "slice": _slice, "iota": _iota,
    "reshape": lambda p, x: x.reshape(p["new_sizes"]),
    "squeeze": lambda p, x: np.squeeze(x, tuple(p["dimensions"])),
    "expand_dims": lambda p, x: np.expand_dims(x, tuple(p["dimensions"])),
    "transpose": lambda p, x: x.transpose(p["permutation"]),
    "concatenate": lambda p, *xs: np.concatenate(xs, p["dimension"]),
    "convert_element_type": lambda p, x: x.astype(p["new_dtype"]),
    "reduce_max": lambda p, x: x.max(tuple(p["axes"])), "reduce_min": lambda p, x: x.min(tuple(p["axes"])),
    "reduce_sum": lambda p, x: x.sum(tuple(p["axes"])), "reduce_or": lambda p, x: x.any(tuple(p["axes"])),
    "reduce_and": lambda p, x: x.all(tuple(p["axes"])),
    "argmax": lambda p, x: np.argmax(x, p["axes"][0]).astype(p["index_dtype"]),
    "argmin": lambda p, x: np.argmin(x, p["axes"][0]).astype(p["index_dtype"]),
}  # fmt: skip
_FREE = frozenset({"reshape", "squeeze", "expand_dims", "transpose", "concatenate", "slice", "dynamic_slice"})
"""Operations that only move numbers, or make fewer of them."""
