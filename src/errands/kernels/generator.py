"""Random numbers in compiled code, which takes `RandomGenerator` over without running any Python.

Numba takes over a numpy Generator by a dozen calls of Python's ctypes, which takes as long as eighty steps, and Ctrl-C
during one of them ends the process, as nobody asks whether it failed. numpy also hands out the address of a generator's C
interface in a capsule, and reading that runs no Python at all.
"""

# mypy: disable-error-code="no-untyped-call, attr-defined, call-arg, misc, untyped-decorator"
# (numba describes few of the types that its compiler is made of)

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.core.typing.templates import AttributeTemplate, bound_function, infer_getattr
from numba.extending import NativeValue, lower_builtin, models, register_model, typeof_impl, unbox

from errands.tables import RandomGenerator

# numpy's bitgen_t: five addresses, of which a uniform number needs the first and the fourth.
STATE, NEXT_DOUBLE = 0, 3
_POINTER = ir.IntType(8).as_pointer()


class RandomGeneratorType(types.Type):
    """The type of `RandomGenerator` in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="RandomGenerator")


RANDOM_GENERATOR = RandomGeneratorType()


@register_model(RandomGeneratorType)
class _Interface(models.StructModel):
    """Where the generator's state is, and the function that draws a number between 0 and 1."""

    def __init__(self, manager: Any, kind: RandomGeneratorType) -> None:
        super().__init__(manager, kind, [("state", types.voidptr), ("next_double", types.voidptr)])


@typeof_impl.register(RandomGenerator)
def _typeof(value: RandomGenerator, context: Any) -> RandomGeneratorType:
    return RANDOM_GENERATOR


@unbox(RandomGeneratorType)
def _unbox(kind: RandomGeneratorType, value: Any, c: Any) -> NativeValue:
    draws = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    bits = c.pyapi.object_getattr_string(value, "bit_generator")
    capsule = c.pyapi.object_getattr_string(bits, "capsule")
    name = c.context.insert_const_string(c.builder.module, "BitGenerator")
    kind_of_call = ir.FunctionType(_POINTER.as_pointer(), [c.pyapi.pyobj, c.pyapi.cstring])
    opened = cgutils.get_or_insert_function(c.builder.module, kind_of_call, "PyCapsule_GetPointer")
    interface = c.builder.call(opened, [capsule, name])
    draws.state = c.builder.load(cgutils.gep_inbounds(c.builder, interface, STATE))
    draws.next_double = c.builder.load(cgutils.gep_inbounds(c.builder, interface, NEXT_DOUBLE))
    # Whoever called the kernel holds the generator, which holds both, until the kernel has returned.
    c.pyapi.decref(capsule)
    c.pyapi.decref(bits)
    return NativeValue(draws._getvalue())


@infer_getattr
class _Methods(AttributeTemplate):
    """What compiled code may call on it."""

    key = RandomGeneratorType

    @bound_function("generator.random")
    def resolve_random(self, rng: RandomGeneratorType, arguments: Any, keywords: Any) -> Any:
        return signature(types.float64, recvr=rng)


@lower_builtin("generator.random", RandomGeneratorType)
def _random(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    draws = cgutils.create_struct_proxy(called.args[0])(context, builder, value=arguments[0])
    kind = ir.FunctionType(ir.DoubleType(), [_POINTER])
    return builder.call(builder.bitcast(draws.next_double, kind.as_pointer()), [draws.state])
