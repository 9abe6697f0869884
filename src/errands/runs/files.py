"""Files that survive: written beside their place, forced to disk, renamed; read within bounds; folders locked; safetensors."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from errands.errors import StoreError

NEW = ".new"
# No links: one in a folder from elsewhere could name any file of this machine.
# No blocking: opening a named pipe would wait for ever for someone to write into it.
_PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class WriteError(StoreError):
    """Nothing more can be written: the disk is full, read-only or gone."""


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}


def write_file(path: Path, data: bytes) -> None:
    """Replace a file in one move: whenever the machine stops, there is the old file or the new one."""
    temporary = path.with_name(f".{path.name}{NEW}")
    try:
        with refusing(path):
            temporary.unlink(missing_ok=True)
            with open(temporary, "xb") as out:
                out.write(data)
                # The bytes must be on disk before the name points at them, else a power cut could leave an empty file.
                out.flush()
                os.fsync(out.fileno())
            os.replace(temporary, path)
            # A rename is a change of the folder: until that is on disk, too, a power cut can undo it.
            with _descriptor(path.parent) as folder:
                os.fsync(folder)
    except WriteError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    """A folder that is open, as locks and syncs ask for it."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder that must not exist yet; FileExistsError when it does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
    except FileExistsError:
        raise
    except OSError as fault:
        raise refusal(path, fault) from None


@contextmanager
def folder_lock(folder: Path, patience: float) -> Iterator[None]:
    """Keep others out of a folder, after they were waited for so many seconds.

    The lock is on the open folder: it ends with the process and leaves no file.
    """
    with ExitStack() as held:
        with refusing(folder):
            descriptor = held.enter_context(_descriptor(folder))
        _lock(descriptor, folder, patience)
        yield


def _lock(descriptor: int, path: Path, patience: float) -> None:
    """Wait for whoever has the lock, then refuse."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # only where the system has no such locks
        return None
    if math.isinf(patience):
        return flock(descriptor, LOCK_EX)  # those who wait come one after the other
    end = time.monotonic() + patience
    while True:
        try:
            return flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise StoreError(f"another process is training in {path}; wait for it or stop it") from None
            time.sleep(0.05)


def read_file(path: Path, limit: int, growing: bool = False) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; of a `growing` one those that were there when it was opened."""
    with _opened(path) as (source, size):
        if size > limit:
            sizes = f"{size:,} bytes, and at most {limit:,} were expected"
            raise StoreError(f"{path} has {sizes}; restore it from a copy or remove its folder")
        # One byte more than there should be: a file that has grown meanwhile shows itself.
        data = source.read(size if growing else size + 1)
    if len(data) != size and not growing:
        raise StoreError(f"{path} changed while it was read; try again")
    return data


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file and its size; a StoreError for anything else that lies there."""
    try:
        descriptor = os.open(path, _PLAIN)
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; this is not a complete run folder") from None
    except OSError as fault:
        why = "it is a link" if fault.errno == errno.ELOOP else (fault.strerror or "error")
        raise StoreError(f"{path} cannot be read ({why.lower()}); restore it or remove its folder") from None
    # The open file is asked, not its path: what lies at a path can be exchanged in between.
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} is not a plain file; restore it from a copy or remove its folder")
    with os.fdopen(descriptor, "rb") as source:
        yield source, status.st_size


def read_end(path: Path, most: int) -> bytes:
    """The last bytes of a regular file, at most so many."""
    with _opened(path) as (source, size):
        source.seek(max(0, size - most))
        return source.read(most)


def digest(*parts: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, one after the other, in hexadecimal."""
    mark = hashlib.sha256()
    for part in parts:
        mark.update(part)
    return mark.hexdigest()


def refusal(path: Path, fault: OSError) -> WriteError:
    """What an operating system's refusal to write means, and what to do."""
    if fault.errno in _FULL:
        return WriteError(f"{path} was not written: the disk is full; free some space, then 'errands resume latest'")
    if fault.errno in _CLOSED:
        return WriteError(f"{path} was not written: you may not write there; run in a folder where you may")
    why = (fault.strerror or str(fault)).lower()
    return WriteError(f"{path} was not written ({why}); fix that, then run 'errands resume latest'")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """A refusal of the operating system inside is told in a sentence."""
    try:
        yield
    except OSError as fault:
        raise refusal(path, fault) from None


Arrays = dict[str, NDArray[Any]]


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a safetensors file; names in order, numbers little-endian."""
    from safetensors.numpy import save

    # Equal arrays must give equal bytes, since checksums and `errands verify` compare bytes: hence the sorting.
    # A contiguous copy of a number (no axes) comes back with one axis; reshape takes it off again.
    plain = {name: np.ascontiguousarray(x).reshape(x.shape) for name, x in sorted(arrays.items())}
    return bytes(save(plain))


def unpack(data: bytes, path: Path) -> Arrays:
    """The arrays of a safetensors file, free to be changed."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return {name: np.array(x) for name, x in load(data).items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as fault:
        raise StoreError(f"{path} is not a safetensors file ({str(fault)[:100]}); restore it from a copy") from None
