"""How a numba that is known compiles the kernels: less often than by itself.

Three things keep the first run short. A kernel that other kernels call is kept as intermediate code, and is optimised
and made machine code only within what Python calls (`_Intermediate`, `Linker`). Kernels hand NamedTuples to each other
whole (`_Tuple`). Options are compared by what was set (`_Flags`).
"""

# mypy: disable-error-code="no-untyped-call, attr-defined, call-arg, misc, untyped-decorator"
# (numba describes few of the types that its compiler is made of)

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import DataModelManager, default_manager
from numba.core.datamodel.models import TupleModel
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering

from errands.kernels import Widened


class _Tuple(TupleModel):
    """A NamedTuple that kernels hand to each other as it is."""

    # Numba takes it apart into its numbers, three hundred of them for a world, a machine and values, and puts it together
    # again behind each call, all of which the compiler must read before it finds that nothing is left of it.
    def get_argument_type(self) -> Any:
        return self.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        return value


_MODELS = DataModelManager().chain(default_manager)
_MODELS.register(types.NamedTuple, _Tuple)


def _context(numbas: Any, **options: Any) -> Any:
    """Numba's way of making code, but for how kernels hand NamedTuples to each other."""
    return numbas.subtarget(data_model_manager=_MODELS, **options)


class _Intermediate(JITCodeLibrary):
    """Code that is optimised and made machine code as a part of whatever calls it, never by itself."""

    def add_linking_library(self, library: Any) -> None:
        # Numba's own functions for counting references are added once, to the entry.
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's last step, which ends with intermediate code here."""

    _name = "errands_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Intermediate(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # Callers look code up by an object, which numba makes the compiled function.
        state.cr = state.cr._replace(cfunc=object())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        return True


class _Flags(Flags):
    """Options of a compilation, which numba compares thousands of times, and writes all of them into a dict for each."""

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _KernelCompiler(Compiler):
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.state.flags = _Flags(self.state.flags)
        self.state.targetctx = _context(self.state.targetctx)

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [(_Lowering if step is NativeLowering else step, why) for step, why in pipeline.passes]
        return pipelines


class Compiled(Widened):
    """What `jit` and `hot` make of a function: intermediate code for other kernels, and an entry for Python."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], cache: Any) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_KernelCompiler)
        self.entry = _Entry(self, cache)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
        return self.entry(*arguments)

    def code_for(self, arguments: tuple[Any, ...]) -> Any:
        """The compiled code for arguments of these types, which it was called with."""
        return self.entry.overloads[tuple(map(self.entry.typeof_pyval, arguments))].entry_point

    def add_overload(self, cres: Any) -> None:
        """Note what was compiled; there is nothing that the dispatcher could call."""
        self.overloads[tuple(cres.signature.args)] = cres


class Linker(_FunctionCompiler):
    """Makes an entry: intermediate code behind what turns Python's values into the machine's, all of it optimised."""

    def __init__(self, kernel: Compiled) -> None:
        super().__init__(kernel.py_func, kernel.targetdescr, kernel.targetoptions, {}, Compiler)
        self.kernel = kernel

    def _compile_core(self, arguments: Any, result: Any) -> Any:
        self.kernel.compile(arguments)
        inner = self.kernel.overloads[arguments]
        # Here references are counted, also where the kernel counts none.
        context = _context(self.targetdescr.target_context, enable_nrt=True)
        library = context.codegen().create_library(inner.fndesc.qualname)
        library.enable_object_caching()
        library.add_linking_library(inner.library)
        library.add_linking_library(rtsys.library)
        # The Python objects that an entry needs (the dtype of an array that it returns) are in an environment of its own:
        # that of the kernel may be read from the cache of a caller, who needs none of them, and numba keeps the first of a name.
        described = copy(inner.fndesc)
        described.env_name += "_entry"
        environment = Environment.from_fndesc(described)
        context.create_cpython_wrapper(library, described, environment, inner.call_helper, release_gil=True)
        code = context.get_executable(library, described, environment)
        return inner._replace(library=library, entry_point=code, metadata={}, fndesc=described, environment=environment)


class _Entry(CPUDispatcher):
    """The way into a kernel from Python."""

    def __init__(self, kernel: Compiled, cache: Any) -> None:
        super().__init__(kernel.py_func, targetoptions=kernel.targetoptions)
        self._compiler = Linker(kernel)
        self._cache = cache
