"""What a parsing process may never do: reach the network, start programs, fork.

Two fences, set once in each child. An audit hook refuses in Python code, so that the
attempt has a name. A seccomp filter refuses in native code, where no hook looks; where
the kernel has none (or the processor is not known here), the hook stands alone.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ForbiddenError", "filter_calls", "forbid_outside"]

_NETWORK_EVENTS = frozenset(
    {
        *("socket.connect", "socket.sendmsg", "socket.sendto"),
        *("socket.getaddrinfo", "socket.getnameinfo"),
        *("socket.gethostbyaddr", "socket.gethostbyname"),
    }
)
_PROGRAM_EVENTS = frozenset(
    {
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"),
        *("os.fork", "os.forkpty", "pty.spawn"),
    }
)


class ForbiddenError(PermissionError):
    """A document has made its reader try what no document may cause."""


def forbid_outside(*, programs: bool = False) -> None:
    """Refuse network connections and, unless ``programs``, other processes from now on."""
    denied = _NETWORK_EVENTS if programs else _NETWORK_EVENTS | _PROGRAM_EVENTS

    def refuse(event: str, _: tuple[object, ...]) -> None:
        if event in denied:
            msg = f"a document may not cause {event}"
            raise ForbiddenError(msg)

    sys.addaudithook(refuse)
    filter_calls(programs=programs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    """An architecture as the kernel names it, and its numbers of the calls that are refused."""

    audit: int
    clone: int
    clone3: int
    socket: int
    connect: int
    processes: tuple[int, ...]
    """fork, vfork, execve, execveat, where they exist."""
    others: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev, and io_uring_setup, which would pass by."""


_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000003E,
        clone=56,
        clone3=435,
        socket=41,
        connect=42,
        processes=(57, 58, 59, 322),
        others=(101, 310, 311, 425),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        clone=220,
        clone3=435,
        socket=198,
        connect=203,
        processes=(221, 281),
        others=(117, 270, 271, 425),
    ),
}
"""From the kernel's syscall tables (arch/x86/entry/syscalls, include/uapi/asm-generic)."""

# Opcodes of the kernel's classic BPF (linux/bpf_common.h) and actions (linux/seccomp.h).
_LOAD, _JUMP_EQUAL, _JUMP_BITS, _JUMP_ABOVE, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_X32_CALLS = 0x40000000
_CLONE_THREAD = 0x00010000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2

_Step = tuple[int, int, int, int]
"""One instruction: opcode, how far to jump if true, if false, operand."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("jump_true", ctypes.c_ubyte),
        ("jump_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Instruction)))


def filter_calls(*, programs: bool) -> bool:
    """Have the kernel refuse this process the calls for it; tell whether it does.

    Threads may be started, processes not; sockets exist within this machine only.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.byteorder != "little":
        return False
    steps = [_Instruction(*step) for step in _steps(machine, programs=programs)]
    program = _Program(len(steps), (_Instruction * len(steps))(*steps))
    prctl = ctypes.CDLL(None).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return not prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)


def _steps(machine: _Machine, *, programs: bool) -> Iterator[_Step]:
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _JUMP_EQUAL, 1, 0, machine.audit
    yield _refuse(errno.EPERM)
    yield _LOAD, 0, 0, _NUMBER
    yield _JUMP_ABOVE, 0, 1, _X32_CALLS
    yield _refuse(errno.EPERM)
    if not programs:
        for number in machine.processes:
            yield from _refused(number, errno.EPERM)
        # Its flags lie in memory, out of a filter's sight; without it, libc takes clone.
        yield from _refused(machine.clone3, errno.ENOSYS)
        yield from _refused(machine.connect, errno.EACCES)
    for number in machine.others:
        yield from _refused(number, errno.EPERM)
    yield _JUMP_EQUAL, 0, 4, machine.socket
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _JUMP_EQUAL, 0, 1, int(socket.AF_UNIX)
    yield _RETURN, 0, 0, _ALLOW
    yield _refuse(errno.EACCES)
    if not programs:
        yield _JUMP_EQUAL, 0, 4, machine.clone
        yield _LOAD, 0, 0, _FIRST_ARGUMENT
        yield _JUMP_BITS, 0, 1, _CLONE_THREAD
        yield _RETURN, 0, 0, _ALLOW
        yield _refuse(errno.EPERM)
    yield _RETURN, 0, 0, _ALLOW


def _refused(number: int, error: int) -> Iterator[_Step]:
    yield _JUMP_EQUAL, 0, 1, number
    yield _refuse(error)


def _refuse(error: int) -> _Step:
    return _RETURN, 0, 0, _ERRNO | error
