"""Measuring with statements of Python, over libpapi.

    import substrata

    with substrata.measure("perf::TASK-CLOCK", "net:::lo:rx:bytes") as counted:
        work()
    print(counted.values, counted.seconds)

    with substrata.region("solve"):   # in the report of PAPI's regions; events come from PAPI_EVENTS
        work()

    @substrata.region("solve")
    def work(): ...
"""

import contextlib
import ctypes
import struct
import time
from types import TracebackType
from typing import Dict, List, Optional, Type, Union

from pypapi import papi_high, papi_low
from pypapi._library import lib
from pypapi.exceptions import PapiError, papi_error

__all__ = ["measure", "region", "PapiError"]

_FLOATING = 2  # PAPI_DATATYPE_FP64

Value = Union[int, float]


def _initialise() -> None:
    if not papi_low.is_initialized():
        papi_low.library_init()


class region(contextlib.ContextDecorator):
    """A region of PAPI's high-level interface, as a statement's body or a function."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> "region":
        papi_high.hl_region_begin(self.name)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        papi_high.hl_region_end(self.name)


class _Set:
    """The eventset of one component: its events' names, and which of them count in floating point."""

    def __init__(self) -> None:
        self.handle = papi_low.create_eventset()
        self.names: List[str] = []
        self.floating: List[bool] = []

    def add(self, name: str, code: int) -> None:
        papi_low.add_event(self.handle, code)
        self.names.append(name)
        self.floating.append(papi_low.get_event_info(code).data_type == _FLOATING)

    def decoded(self, numbers: List[int]) -> Dict[str, Value]:
        return {name: struct.unpack("d", struct.pack("q", number))[0] if floating else number
                for name, floating, number in zip(self.names, self.floating, numbers)}


@papi_error
def _start(sets: List[_Set]) -> "tuple[int, None]":
    """Starts all of the sets or none."""
    handles = (ctypes.c_int * len(sets))(*(one.handle for one in sets))
    stamp = (ctypes.c_int64 * 2)()
    return lib.substrata_start_group(handles, ctypes.c_uint(len(sets)), stamp), None


class measure:
    """Counts events of any components while the body of a `with` runs.

    `values` has the counts by the events' names, `seconds` the time; both as of the end of the body. An event that does
    not count here raises when the body would begin, and nothing is left running.
    """

    def __init__(self, *events: str) -> None:
        if not events:
            raise ValueError("name the events to measure; `substrata list` or papi_native_avail lists them")
        self.events = events
        self.values: Dict[str, Value] = {}
        self.seconds = 0.0
        self._sets: List[_Set] = []
        self._began = 0.0

    def __enter__(self) -> "measure":
        if self._sets:
            raise RuntimeError("this measurement is running")
        _initialise()
        by_component: Dict[int, _Set] = {}
        try:
            for name in dict.fromkeys(self.events):
                code = papi_low.event_name_to_code(name)
                component = papi_low.get_event_component(code)
                if component not in by_component:
                    by_component[component] = _Set()
                    self._sets.append(by_component[component])
                by_component[component].add(name, code)
            _start(self._sets)
        except BaseException:
            self._free()
            raise
        self._began = time.monotonic()
        return self

    def read(self) -> Dict[str, Value]:
        """The counts so far."""
        values: Dict[str, Value] = {}
        for one in self._sets:
            values.update(one.decoded(papi_low.read(one.handle)))
        return {name: values[name] for name in dict.fromkeys(self.events)} if values else self.values

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        counted: Dict[str, Value] = {}
        try:
            for one in self._sets:
                counted.update(one.decoded(papi_low.stop(one.handle)))
            self.seconds = time.monotonic() - self._began
            self.values = {name: counted[name] for name in dict.fromkeys(self.events)}
        finally:
            self._free()

    def _free(self) -> None:
        for one in self._sets:
            with contextlib.suppress(PapiError):
                papi_low.stop(one.handle)
            papi_low.cleanup_eventset(one.handle)
            papi_low.destroy_eventset(one.handle)
        self._sets = []
