"""Where a task stands, once everything has settled: the chain of awaits under it, told as file names and lines.

`Task.get_stack` gives only the outermost frame of a suspended coroutine; what teaches is the innermost one of
the subject's own code, and where in its libraries that one waits.
"""

from __future__ import annotations

import asyncio
import gc
import sysconfig
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_KIT = str(Path(__file__).parent)
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def where(task: asyncio.Task[Any]) -> str:
    """Say at which line the task waits: in the subject's own code where it is there, and innermost."""
    frames = _frames(task.get_coro())
    if not frames:
        return "at no line that can be told"
    return describe(frames)


def describe(frames: list[FrameType]) -> str:
    """Say where a stack stands, outermost frame first: the subject's own line, and the innermost one."""
    innermost = line(frames[-1])
    own = [line(frame) for frame in frames if not is_foreign(frame.f_code)]
    if own and own[-1] != innermost:
        return f"at {own[-1]}, inside {innermost}"
    return f"at {innermost}"


def raised_in(error: BaseException) -> str:
    """The innermost line of the subject's own code that an exception came through; empty where it met none."""
    found, traceback = "", error.__traceback__
    while traceback is not None:
        if not is_foreign(traceback.tb_frame.f_code):
            found = line(traceback.tb_frame, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def is_kit(code: CodeType) -> bool:
    """Whether code belongs to this kit."""
    return code.co_filename.startswith(_KIT)


def is_standard(code: CodeType) -> bool:
    """Whether code belongs to the standard library or to the interpreter itself."""
    name = code.co_filename
    return name.startswith("<") or (name.startswith(_STANDARD_LIBRARY) and not name.startswith(_INSTALLED))


def is_foreign(code: CodeType) -> bool:
    """Whether code is surely not the subject's own: the kit, the standard library, an installed package."""
    return is_kit(code) or is_standard(code) or code.co_filename.startswith(_INSTALLED)


def line(frame: FrameType, number: int | None = None) -> str:
    """A frame's line as `name.py:12 (function)`, in libraries with the package's folder before it.

    Never a whole path, which would put the machine's layout into reports.
    """
    path = Path(frame.f_code.co_filename)
    name = f"{path.parent.name}/{path.name}" if is_foreign(frame.f_code) else path.name
    return f"{name}:{number or frame.f_lineno} ({frame.f_code.co_name})"


def _frames(awaitable: Any) -> list[FrameType]:
    """The frames of a chain of awaits, outermost first."""
    frames: list[FrameType] = []
    seen: set[int] = set()
    while awaitable is not None and id(awaitable) not in seen:
        seen.add(id(awaitable))
        for kind in ("cr", "ag", "gi"):
            frame = getattr(awaitable, f"{kind}_frame", None)
            if frame is not None:
                frames.append(frame)
                inner = "gi_yieldfrom" if kind == "gi" else f"{kind}_await"
                awaitable = getattr(awaitable, inner)
                break
        else:
            awaitable = _behind(awaitable)
    return frames


def _behind(step: Any) -> Any:
    """What a step without a frame leads to, told to nobody but the garbage collector.

    Such are the steps of an asynchronous generator and the iterator of a task that another task awaits.
    """
    for held in gc.get_referents(step):
        if isinstance(held, asyncio.Task):
            return held.get_coro()
        if hasattr(held, "ag_frame") or hasattr(held, "cr_frame"):
            return held
    return None


async def settle() -> None:
    """Give the event loop turns enough to hand over what has arrived, so that tasks wait for what has not."""
    for _ in range(20):
        await asyncio.sleep(0)
