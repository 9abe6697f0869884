"""Compiled loops over flat tables, and how they are compiled.

`hot` marks inner code: it is inlined and counts no references (they cost 2 to 8 times the work), so it makes no new
arrays or slices. `jit` marks code that may. Kernels call each other as intermediate code; only what Python calls becomes
machine code, with all that it calls, behind an entry that turns Python's values into the machine's. That is so on a numba
that is known (`KNOWN`); another, or ERRANDS_COMPILER=plain, compiles each kernel by itself: the first run takes longer, and
nothing else changes.

Compiled code is kept under ERRANDS_CACHE, else NUMBA_CACHE_DIR, else the user's cache, in a folder for each state of
the sources that a kernel is made of: its own file and all that this imports from errands. So no edit goes unnoticed,
and an edit compiles anew only what it can have changed. Nothing is read that anybody but the user and root could have written.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import config
from numba.core import event, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from errands.kernels import generator as generator  # how compiled code takes random numbers over

_config: Any = config
_types: Any = types
KNOWN = (0, 68)
"""The version of numba into whose compiler kernels/compiler.py goes; with others kernels are compiled as numba does by itself."""
PLAIN = numba.version_info[:2] != KNOWN or os.environ.get("ERRANDS_COMPILER") == "plain"
"""Whether numba compiles by itself."""
_SOURCES = Path(__file__).resolve().parents[1]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def cache_folder() -> Path:
    """The folder in which compiled kernels are kept."""
    for variable in ("ERRANDS_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if home := os.environ.get(variable):
            return Path(home) / "errands"
    return Path.home() / ".cache" / "errands"


def stranger(path: Path) -> Path | None:
    """The part of a path by which somebody but the user and root could change what it holds; None where nobody can.

    What lies in the cache is unpickled, and runs: whoever may write there, or rename a folder above it, runs code as the user.
    """
    if not hasattr(os, "geteuid"):  # a system without owners as Unix has them
        return None
    here = Path(os.path.abspath(path))  # links are looked at themselves, and then where they lead
    for way in (here, here.resolve()):
        for part in (way, *way.parents):
            try:
                found = part.lstat()
            except FileNotFoundError:
                continue
            except OSError:
                return part
            # In a folder such as /tmp (sticky) everybody may write, but nobody may rename what is another's.
            harmless = stat.S_ISLNK(found.st_mode) or (part != way and found.st_mode & stat.S_ISVTX)
            if found.st_uid not in (0, os.geteuid()) or (found.st_mode & 0o022 and not harmless):
                return part
    return None


@cache
def sources_of(file: Path) -> tuple[Path, ...]:
    """The files of errands that a kernel file is made of, in order: itself, this one, and whatever they import."""
    # This file counts for every kernel: the compiler's options stand in it.
    seen, waiting = set[Path](), [file.resolve(), Path(__file__).resolve()]
    while waiting:
        source = waiting.pop()
        if source not in seen:
            seen.add(source)
            waiting += _imports(source)
    return tuple(sorted(seen))


@cache
def _imports(source: Path) -> tuple[Path, ...]:
    """The files of errands that one file names in its imports, wherever in it they stand."""
    names = set[str]()
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            # What follows `import` may be a module or a name in one; both are tried, only files are kept.
            names |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    paths = [_SOURCES.joinpath(*name.split(".")[1:]) for name in names if name.startswith("errands.")]
    return tuple(p for path in paths for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file())


@cache
def digest(file: Path) -> str:
    """A name for the present state of all sources of a kernel file."""
    text = hashlib.sha256()
    for source in sources_of(file):
        # Zero bytes keep name and text apart, so that moving text from one file to the next changes the digest.
        text.update(f"{source.relative_to(_SOURCES)}\0".encode() + source.read_bytes() + b"\0")
    return text.hexdigest()[:16]


class KernelCache(FunctionCache):
    """The compiled code of one kernel, a file for each signature; what cannot be read or written is compiled again."""

    def __init__(self, function: Callable[..., Any], role: str = "") -> None:
        # The parent's constructor is left out: it would choose a folder and an index file of numba's own.
        self._py_func = function
        self._name = f"{function.__qualname__}{role}"
        # Only its `reduce` and `rebuild` are used, and these need nothing that its constructor sets.
        self._impl = object.__new__(CompileResultCacheImpl)
        self._cache_path = str(cache_folder() / digest(Path(function.__code__.co_filename)))
        self._enabled = True

    def _file(self, key: object) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return Path(self._cache_path) / f"{self._name}-{name}.bin"

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        known: tuple[Any, ...] = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        # Numba's key does not tell apart its own versions, and what is compiled with and without checks of bounds.
        return (*known, numba.__version__, sys.implementation.cache_tag, PLAIN, bool(_config.BOUNDSCHECK))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature; None where there is none, or none that can be read."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        if stranger(self._file(key)) is not None:
            return None
        try:
            # The whole key is stored and compared: a file's name holds only the first digits of its hash.
            stored, code = pickle.loads(self._file(key).read_bytes())  # noqa: S301  # numba's own form, from the user's cache
            return self._impl.rebuild(target_context, code) if stored == key else None
        except Exception:  # noqa: BLE001  # a damaged file can raise anything while it is unpacked
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code beside its place, then rename it; a full disk only means compiling again."""
        key = self._index_key(sig, data.codegen)
        file = self._file(key)
        # Renaming is atomic: processes that compile the same kernel at once never read half a file.
        beside = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            for folder in reversed(file.parents):
                if not folder.exists():
                    folder.mkdir(mode=0o700, exist_ok=True)
            if stranger(file.parent) is not None:
                return
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                opened.write(dumps((key, self._impl.reduce(data))))  # type: ignore[no-untyped-call]
            beside.replace(file)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)


class Repeated:
    """A kernel that one learner calls again and again with the same objects: their types are found out once.

    Asking numba for the types of a few dozen arrays takes longer than a hundred steps of training. Arguments that are
    the very same objects have the types that they had, so the compiled code is called at once; others go the long way.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.last, self.code = kernel, cast(tuple[Any, ...], ()), cast(Any, None)
        """The kernel, the arguments of the last call that asked for types, and the code for those."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        if self.code is not None and len(arguments) == len(self.last):
            for now, before in zip(arguments, self.last, strict=True):
                # Plain ints all have one type: a new count of steps is no reason to ask again.
                if now is not before and (type(now) is not int or type(before) is not int):
                    break
            else:
                return self.code(*arguments)
        result = self.kernel(*arguments)
        # Without the compiler a kernel is a function.
        if isinstance(self.kernel, CPUDispatcher):
            kernel: Any = self.kernel
            self.last, self.code = arguments, kernel.code_for(arguments)
        return result


# The numpy error model divides without asking for zero; None leaves checks of bounds to NUMBA_BOUNDSCHECK. Inner code counts no
# references, so it must not be called from Python: there an entry, which does, stands before it. What is not said is taken over
# from the kernel that calls: without "forceinline" all that inner code calls would be inlined.
_OPTIONS = {
    "nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None, "no_cfunc_wrapper": True, "forceinline": False,
}  # fmt: skip
_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "forceinline": True, "_nrt": False}


class Widened(CPUDispatcher):
    """A kernel that other kernels call with one kind of whole number, signed or not."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types that a call from another kernel is compiled for."""
        # Else a kernel is compiled again for the numbers of an int32 array, and again for a 0 in the source.
        call: Any = super().get_call_template
        return call(tuple(map(_widest, args)), {name: _widest(kind) for name, kind in kws.items()})


def _widest(kind: Any) -> Any:
    kind = _types.unliteral(kind)
    if isinstance(kind, _types.Integer):
        return _types.int64 if kind.signed else _types.uint64
    return kind


class _Plain(Widened):
    """A kernel as numba compiles it by itself, behind an entry of one tuple: inner code must not be called from Python."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options)
        self._cache: Any = KernelCache(function)

        def enter(arguments: Any) -> Any:
            return self(*arguments)

        enter.__name__ = enter.__qualname__ = function.__name__  # what is told while it is compiled
        entry: Any = CPUDispatcher
        self.entry = entry(enter, targetoptions=_OPTIONS)
        self.entry._cache = KernelCache(function, "-entry")

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python."""
        return self.entry(arguments)

    def code_for(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The compiled code for arguments of these types, which it was called with."""
        code = self.entry.overloads[(self.entry.typeof_pyval(arguments),)].entry_point
        return lambda *given: code(given)


def _compiled(function: Callable[..., Any], inner: bool) -> Any:
    if _config.DISABLE_JIT:
        return function
    if not PLAIN:
        from errands.kernels.compiler import Compiled

        return Compiled(function, {**(_INNER if inner else _OPTIONS), "no_cpython_wrapper": True}, KernelCache(function))
    return _Plain(function, _INNER if inner else _OPTIONS)


def jit(function: Kernel) -> Kernel:
    """Compile, without the interpreter's lock; plain Python when NUMBA_DISABLE_JIT is set."""
    # The same tests run without the compiler, and expect the same bits.
    return cast(Kernel, _compiled(function, inner=False))


def hot(function: Kernel) -> Kernel:
    """The same for inner loops: inlined, no reference counts, so no new arrays or slices."""
    return cast(Kernel, _compiled(function, inner=True))


class _Watch(event.Listener):
    def __init__(self, on_compile: Callable[[str], None]) -> None:
        self.on_compile: Callable[[str], None] | None = on_compile

    def on_start(self, event: Any) -> None:
        # Numba reports every helper that it compiles; only the first report counts.
        on_compile, self.on_compile = self.on_compile, None
        if on_compile is not None:
            on_compile(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


@contextlib.contextmanager
def when_compiling(on_compile: Callable[[str], None]) -> Iterator[None]:
    """Call `on_compile` with a kernel's name as soon as something must be compiled that no cache holds, once at most."""
    with event.install_listener("numba:compile", _Watch(on_compile)):
        yield
