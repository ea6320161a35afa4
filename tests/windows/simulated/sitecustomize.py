"""What differs on Windows, simulated for this package in a process that finds this file.

Its modules see ``win32`` and no ``fcntl``, ``resource``, ``fork`` or users; locks are those of a
handle on a range of bytes; a file that is open can't be replaced or removed, and names may not
hold what they may not hold there.
"""

import ast
import builtins
import errno
import fcntl
import importlib.machinery
import marshal
import multiprocessing
import os
import re
import struct
import sys
import types
from contextlib import suppress
from pathlib import Path

OURS = "pytest_evalmetrics"
_NOT_THERE = re.compile(
    r'[<>:"|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE
)
_OF_POSIX = (
    "os.fork",
    "os.getuid",
    "os.geteuid",
    "os.sched_getaffinity",
    "signal.SIGKILL",
)
# text without any of these is the same there
_MARKS = tuple(name.encode() for name in ("sys.platform", "hasattr(os", *_OF_POSIX))
_import = builtins.__import__
_code = importlib.machinery.SourceFileLoader.get_code


class _Platform(ast.NodeTransformer):
    def visit_Attribute(self, node):
        self.generic_visit(node)
        text = (
            f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        )
        if text == "sys.platform":
            return ast.copy_location(ast.Constant("win32"), node)
        if text in _OF_POSIX:
            return ast.copy_location(ast.Name("not_on_windows", ast.Load()), node)
        return node

    def visit_Call(self, node):
        call = (
            isinstance(node.func, ast.Name)
            and node.func.id == "hasattr"
            and ast.unparse(node)
        )
        if call in [f"hasattr(os, '{name[3:]}')" for name in _OF_POSIX]:
            return ast.copy_location(ast.Constant(value=False), node)
        return self.generic_visit(node)


def get_code(self, fullname):
    if fullname.partition(".")[0] != OURS:
        return _code(self, fullname)
    path = self.get_filename(fullname)
    text = self.get_data(path)
    if not any(mark in text for mark in _MARKS):
        return _code(self, fullname)
    kept = Path(RUN).parent / "compiled" / fullname  # by the process before
    if kept.exists():
        return marshal.loads(kept.read_bytes())  # noqa: S302 - our own
    code = compile(_Platform().visit(ast.parse(text, path)), path, "exec")
    kept.parent.mkdir(exist_ok=True)
    beside = kept.with_name(f"{fullname}-{os.getpid()}")
    beside.write_bytes(marshal.dumps(code))
    beside.replace(kept)
    return code


def locking(file, mode, size):
    """Lock from where the file stands, as msvcrt does: of an open file, not of a process."""
    kind = fcntl.F_UNLCK if mode == 0 else fcntl.F_WRLCK
    command = fcntl.F_OFD_SETLKW if mode == 1 else fcntl.F_OFD_SETLK
    start = os.lseek(file, 0, os.SEEK_CUR)
    if start > 2**31 - 1:
        raise OverflowError("msvcrt's positions are those of a long")
    fcntl.fcntl(
        file, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, size, 0)
    )


def open_process(access, inherit, process):
    """Return a process's number as its handle, and 0 for one that is not there."""
    assert (access, inherit) == (0x100000, False)
    return process if Path(f"/proc/{process}").exists() else 0


def ended(process):
    """Check whether a process has ended, though somebody still has a handle of it."""
    return (
        Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    )


def import_there(name, namespace=None, *args, **kwargs):
    if (namespace or {}).get("__name__", "").startswith(OURS):
        if name in ("fcntl", "resource"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in ("msvcrt", "ctypes"):
            return {"msvcrt": MSVCRT, "ctypes": CTYPES}[name]
    return _import(name, namespace, *args, **kwargs)


def is_open(path):
    path = Path(os.path.realpath(path))
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            if handle.readlink() == path:
                return True
    return False


def audit(event, args):
    """Refuse what Windows refuses, of files in the folder of the run."""
    if (
        event == "open"
        and isinstance(args[0], str)
        and args[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        refuse_name(args[0])
    elif event == "os.mkdir":
        refuse_name(os.fsdecode(args[0]))
    elif event in ("os.rename", "os.remove") and any(
        isinstance(path, str | os.PathLike) and is_open(path) for path in args[:2]
    ):
        raise PermissionError(errno.EACCES, "it is open", str(args[0]))


def refuse_name(path):
    inner = Path(os.path.relpath(path, RUN))
    if ".." not in inner.parts and any(map(_NOT_THERE.search, inner.parts)):
        raise OSError(errno.EINVAL, "no name on Windows", path)


MSVCRT = types.SimpleNamespace(LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2, locking=locking)
KERNEL = types.SimpleNamespace(
    OpenProcess=open_process,
    WaitForSingleObject=lambda handle, wait: 0 if ended(handle) else 0x102 - wait,
    CloseHandle=bool,
)
CTYPES = types.SimpleNamespace(
    WinDLL=lambda *_, **__: KERNEL, get_last_error=lambda: 87
)
RUN = os.environ.get("SIMULATED_WINDOWS")
if RUN:
    importlib.machinery.SourceFileLoader.get_code = get_code
    builtins.__import__ = import_there
    multiprocessing.set_start_method("spawn")
    sys.addaudithook(audit)
