"""PAPI's low-level interface. A function that PAPI refuses raises the exception of the error (exceptions)."""

import ctypes
from ctypes import byref, c_float, c_int, c_longlong, c_ulonglong
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._library import lib
from .consts import PAPI_MAX_STR_LEN, PAPI_NATIVE_MASK, PAPI_NULL, PAPI_PRESET_MASK, PAPI_VER_CURRENT
from .exceptions import PapiError, PapiInvalidValueError, papi_error
from .structs import (EPC, IPC, COMPONENT_info, DMEM_info, EVENT_info, EXECUTABLE_info, Flips, Flops, HARDWARE_info,
                      SHARED_LIB_info)

_ENUM_EVENTS, _ENUM_FIRST = 0, 1


def _filled(call: Callable[..., int], kind: Any, *arguments: Any) -> Tuple[int, Any]:
    """PAPI's answer to a call whose last argument is an address, and what was written there."""
    out = kind()
    code = call(*arguments, byref(out))
    return code, out.value if hasattr(out, "value") else out


def _events_of(eventSet: int, called: str = "read", values: Optional[List[int]] = None) -> Tuple[int, Any]:
    """PAPI's answer to a call that takes one number for each event of the set, and the numbers after it."""
    code, number = _filled(lib.PAPI_list_events, c_int, eventSet, None)
    if code < 0:
        return code, None
    if values is not None and len(values) != number:
        raise PapiInvalidValueError(f"{len(values)} values were given for an eventset of {number} events")
    numbers = (c_longlong * max(number, 1))(*(values or ()))
    code = getattr(lib, "PAPI_" + called)(eventSet, numbers)
    return code, list(numbers[:number])


def _all_or_none(code: int, number: int, verb: str) -> Tuple[int, None]:
    """PAPI's answer about several events: a number of them where it refused one."""
    if 0 < code < number:
        raise PapiError(f"only {code} of {number} events were {verb}")
    return code, None


@papi_error
def accum(eventSet: int, values: List[int]) -> Tuple[int, List[int]]:
    """Adds the counts to the values and sets the counts to zero."""
    return _events_of(eventSet, "accum", values)


@papi_error
def add_event(eventSet: int, eventCode: int) -> Tuple[int, None]:
    """Adds an event."""
    return lib.PAPI_add_event(eventSet, eventCode), None


@papi_error
def add_named_event(eventSet: int, eventName: str) -> Tuple[int, None]:
    """Adds an event by its name."""
    return lib.PAPI_add_named_event(eventSet, eventName.encode()), None


@papi_error
def add_events(eventSet: int, eventCodes: List[int]) -> Tuple[int, None]:
    """Adds several events; those before one that is refused stay."""
    code = lib.PAPI_add_events(eventSet, (c_int * len(eventCodes))(*eventCodes), len(eventCodes))
    return _all_or_none(code, len(eventCodes), "added")


@papi_error
def assign_eventset_component(eventSet: int, component: int) -> Tuple[int, None]:
    """Binds an empty eventset to a component."""
    return lib.PAPI_assign_eventset_component(eventSet, component), None


@papi_error
def attach(eventSet: int, pid: int) -> Tuple[int, None]:
    """Counts another process or thread."""
    return lib.PAPI_attach(eventSet, pid), None


@papi_error
def cleanup_eventset(eventSet: int) -> Tuple[int, None]:
    """Removes all events."""
    return lib.PAPI_cleanup_eventset(eventSet), None


@papi_error
def create_eventset() -> Tuple[int, int]:
    """A new, empty eventset."""
    handle = c_int(PAPI_NULL)
    return lib.PAPI_create_eventset(byref(handle)), handle.value


@papi_error
def detach(eventSet: int) -> Tuple[int, None]:
    """Counts this thread again."""
    return lib.PAPI_detach(eventSet), None


@papi_error
def destroy_eventset(eventSet: int) -> Tuple[int, None]:
    """Destroys an empty eventset."""
    return lib.PAPI_destroy_eventset(byref(c_int(eventSet))), None


def enum_event() -> Dict[str, List[EVENT_info]]:
    """The events of the first component: a list of "native" and one of "preset" events."""
    return enum_cmp_event(0)


def enum_cmp_event(component: int) -> Dict[str, List[EVENT_info]]:
    """The events of a component: a list of "native" and one of "preset" events."""
    events: Dict[str, List[EVENT_info]] = {}
    for name, mask in (("native", PAPI_NATIVE_MASK), ("preset", PAPI_PRESET_MASK)):
        events[name] = []
        code, modifier = c_int(mask), _ENUM_FIRST
        while lib.PAPI_enum_cmp_event(byref(code), modifier, component) == 0:
            events[name].append(get_event_info(code.value))
            modifier = _ENUM_EVENTS
    return events


@papi_error
def event_code_to_name(eventCode: int) -> Tuple[int, str]:
    """The name of an event."""
    out = ctypes.create_string_buffer(PAPI_MAX_STR_LEN)
    return lib.PAPI_event_code_to_name(eventCode, out), out.value.decode(errors="replace")


@papi_error
def event_name_to_code(eventName: str) -> Tuple[int, int]:
    """The code of an event."""
    return _filled(lib.PAPI_event_name_to_code, c_int, eventName.encode())


@papi_error
def get_dmem_info() -> Tuple[int, DMEM_info]:
    """The memory of this process."""
    code, info = _filled(lib.PAPI_get_dmem_info, DMEM_info.alloc_empty)
    return code, DMEM_info(info)


@papi_error
def get_event_info(eventCode: int) -> Tuple[int, EVENT_info]:
    """What an event is."""
    code, info = _filled(lib.PAPI_get_event_info, EVENT_info.alloc_empty, eventCode)
    return code, EVENT_info(info)


def get_executable_info() -> Optional[EXECUTABLE_info]:
    """The program and where it lies in memory."""
    return EXECUTABLE_info.at(lib.PAPI_get_executable_info())


def get_hardware_info() -> Optional[HARDWARE_info]:
    """The machine."""
    return HARDWARE_info.at(lib.PAPI_get_hardware_info())


def get_component_info(component: int) -> Optional[COMPONENT_info]:
    """What a component is and can do; None for a number that is none."""
    return COMPONENT_info.at(lib.PAPI_get_component_info(component))


def get_multiplex(enventSet: int) -> int:
    """Whether an eventset is multiplexed."""
    return lib.PAPI_get_multiplex(enventSet)


def get_real_cyc() -> c_longlong:
    """Cycles of the reference clock since some moment."""
    return c_longlong(lib.PAPI_get_real_cyc())


def get_real_nsec() -> c_longlong:
    """Nanoseconds since some moment."""
    return c_longlong(lib.PAPI_get_real_nsec())


def get_real_usec() -> c_longlong:
    """Microseconds since some moment."""
    return c_longlong(lib.PAPI_get_real_usec())


def get_shared_lib_info() -> Optional[SHARED_LIB_info]:
    """The shared libraries of this process."""
    return SHARED_LIB_info.at(lib.PAPI_get_shared_lib_info())


def get_virt_cyc() -> c_longlong:
    """Cycles of the reference clock that this thread ran."""
    return c_longlong(lib.PAPI_get_virt_cyc())


def get_virt_nsec() -> c_longlong:
    """Nanoseconds that this thread ran."""
    return c_longlong(lib.PAPI_get_virt_nsec())


def get_virt_usec() -> c_longlong:
    """Microseconds that this thread ran."""
    return c_longlong(lib.PAPI_get_virt_usec())


def is_initialized() -> int:
    """Which parts of the library are initialised: bits of consts."""
    return lib.PAPI_is_initialized()


@papi_error
def library_init(version: int = PAPI_VER_CURRENT) -> Tuple[int, None]:
    """Initialises the library."""
    return lib.PAPI_library_init(version), None


@papi_error
def list_events(eventSet: int) -> Tuple[int, List[int]]:
    """The codes of the events of a set."""
    number = c_int(0)
    code = lib.PAPI_list_events(eventSet, None, byref(number))
    if code < 0 or number.value == 0:
        return code, []
    codes = (c_int * number.value)()
    return lib.PAPI_list_events(eventSet, codes, byref(number)), list(codes)


@papi_error
def list_threads() -> Tuple[int, List[int]]:
    """The threads that the library knows."""
    number = c_int(0)
    code = lib.PAPI_list_threads(None, byref(number))
    if code < 0 or number.value == 0:
        return code, []
    threads = (ctypes.c_ulong * number.value)()
    return lib.PAPI_list_threads(threads, byref(number)), list(threads[:number.value])


@papi_error
def lock(lock: int) -> Tuple[int, None]:
    """Takes one of the locks of consts."""
    return lib.PAPI_lock(lock), None


@papi_error
def multiplex_init() -> Tuple[int, None]:
    """Prepares for eventsets that are multiplexed."""
    return lib.PAPI_multiplex_init(), None


def num_cmp_hwctrs(component: int) -> int:
    """The counters of a component, or an error below zero."""
    return lib.PAPI_num_cmp_hwctrs(component)


@papi_error
def num_events(eventSet: int) -> Tuple[int, int]:
    """The number of events of a set."""
    code = lib.PAPI_num_events(eventSet)
    return code, code


def perror(msg: str) -> None:
    """Prints the message and the last error to the standard error output."""
    lib.PAPI_perror(msg.encode())


@papi_error
def query_event(eventCode: int) -> Tuple[int, None]:
    """Raises when the event does not count here."""
    return lib.PAPI_query_event(eventCode), None


@papi_error
def query_named_event(eventName: str) -> Tuple[int, None]:
    """Raises when the event does not count here."""
    return lib.PAPI_query_named_event(eventName.encode()), None


@papi_error
def read(eventSet: int) -> Tuple[int, List[int]]:
    """The counts of a set."""
    return _events_of(eventSet)


@papi_error
def register_thread() -> Tuple[int, None]:
    """Makes this thread known to the library."""
    return lib.PAPI_register_thread(), None


@papi_error
def remove_named_event(eventSet: int, eventName: str) -> Tuple[int, None]:
    """Removes an event by its name."""
    return lib.PAPI_remove_named_event(eventSet, eventName.encode()), None


@papi_error
def remove_event(eventSet: int, eventCode: int) -> Tuple[int, None]:
    """Removes an event."""
    return lib.PAPI_remove_event(eventSet, eventCode), None


@papi_error
def remove_events(eventSet: int, eventCodes: List[int]) -> Tuple[int, None]:
    """Removes several events."""
    code = lib.PAPI_remove_events(eventSet, (c_int * len(eventCodes))(*eventCodes), len(eventCodes))
    return _all_or_none(code, len(eventCodes), "removed")


@papi_error
def reset(eventSet: int) -> Tuple[int, None]:
    """Sets the counts to zero."""
    return lib.PAPI_reset(eventSet), None


@papi_error
def set_debug(level: int) -> Tuple[int, None]:
    """What the library does with an error: see consts."""
    return lib.PAPI_set_debug(level), None


@papi_error
def set_cmp_domain(domain: int, component: int) -> Tuple[int, None]:
    """The domain of the next eventsets of a component."""
    return lib.PAPI_set_cmp_domain(domain, component), None


@papi_error
def set_domain(domain: int) -> Tuple[int, None]:
    """The domain of the next eventsets."""
    return lib.PAPI_set_domain(domain), None


@papi_error
def set_cmp_granularity(granularity: int, component: int) -> Tuple[int, None]:
    """The granularity of the next eventsets of a component."""
    return lib.PAPI_set_cmp_granularity(granularity, component), None


@papi_error
def set_granularity(granularity: int) -> Tuple[int, None]:
    """The granularity of the next eventsets."""
    return lib.PAPI_set_granularity(granularity), None


@papi_error
def set_multiplex(eventSet: int) -> Tuple[int, None]:
    """Lets an eventset take turns where there are too few counters."""
    return lib.PAPI_set_multiplex(eventSet), None


def set_opt(*args: Any) -> None:
    """Not implemented, as in PyPAPI: the options have functions of their own."""
    raise NotImplementedError("PAPI_set_opt takes C structures; use the functions of this module")


def shutdown() -> None:
    """Ends the use of the library."""
    lib.PAPI_shutdown()


@papi_error
def start(eventSet: int) -> Tuple[int, None]:
    """Starts counting."""
    return lib.PAPI_start(eventSet), None


@papi_error
def state(eventSet: int) -> Tuple[int, int]:
    """The state of an eventset: bits of consts."""
    return _filled(lib.PAPI_state, c_int, eventSet)


@papi_error
def stop(eventSet: int) -> Tuple[int, List[int]]:
    """Stops counting; the counts."""
    return _events_of(eventSet, "stop")


def strerror(errCode: int) -> Optional[str]:
    """The text of an error, None for a number that is none."""
    text = lib.PAPI_strerror(errCode)
    return None if text is None else text.decode()


@papi_error
def thread_id() -> Tuple[int, c_ulonglong]:
    """The number of this thread."""
    found = lib.PAPI_thread_id()
    code = ctypes.c_long(found).value
    return min(code, 0) if -100 < code < 0 else 0, c_ulonglong(found)


@papi_error
def unlock(lock: int) -> Tuple[int, None]:
    """Gives a lock back."""
    return lib.PAPI_unlock(lock), None


@papi_error
def unregister_thread() -> Tuple[int, None]:
    """Lets the library forget this thread."""
    return lib.PAPI_unregister_thread(), None


@papi_error
def write(eventSet: int, values: List[int]) -> Tuple[int, List[int]]:
    """Sets the counts of a set that allows it."""
    return _events_of(eventSet, "write", values)


@papi_error
def get_event_component(eventCode: int) -> Tuple[int, int]:
    """The component of an event."""
    code = lib.PAPI_get_event_component(eventCode)
    return code, code


@papi_error
def get_eventset_component(eventSet: int) -> Tuple[int, int]:
    """The component of an eventset."""
    code = lib.PAPI_get_eventset_component(eventSet)
    return code, code


@papi_error
def get_component_index(componentName: str) -> Tuple[int, int]:
    """The number of a component."""
    code = lib.PAPI_get_component_index(componentName.encode())
    return code, code


@papi_error
def disable_component(component: int) -> Tuple[int, None]:
    """Leaves a component out; before library_init."""
    return lib.PAPI_disable_component(component), None


@papi_error
def disable_component_by_name(componentName: str) -> Tuple[int, None]:
    """Leaves a component out; before library_init."""
    return lib.PAPI_disable_component_by_name(componentName.encode()), None


def num_components() -> int:
    """The number of components."""
    return lib.PAPI_num_components()


@papi_error
def flips_rate(event: int) -> Tuple[int, Flips]:
    """Floating point instructions of the event and their rate since the last call."""
    numbers = [kind() for kind in (c_float, c_float, c_longlong, c_float)]
    code = lib.PAPI_flips_rate(event, *map(byref, numbers))
    return code, Flips(event, *(number.value for number in numbers))


@papi_error
def flops_rate(event: int) -> Tuple[int, Flops]:
    """Floating point operations of the event and their rate since the last call."""
    numbers = [kind() for kind in (c_float, c_float, c_longlong, c_float)]
    code = lib.PAPI_flops_rate(event, *map(byref, numbers))
    return code, Flops(event, *(number.value for number in numbers))


@papi_error
def ipc() -> Tuple[int, IPC]:
    """Instructions and instructions per cycle since the last call."""
    numbers = [kind() for kind in (c_float, c_float, c_longlong, c_float)]
    code = lib.PAPI_ipc(*map(byref, numbers))
    return code, IPC(*(number.value for number in numbers))


@papi_error
def epc(event: int = 0) -> Tuple[int, EPC]:
    """Events and events per cycle since the last call."""
    numbers = [kind() for kind in (c_float, c_float, c_longlong, c_longlong, c_longlong, c_float)]
    code = lib.PAPI_epc(event, *map(byref, numbers))
    return code, EPC(*(number.value for number in numbers))


@papi_error
def rate_stop() -> Tuple[int, None]:
    """Stops what a rate function started."""
    return lib.PAPI_rate_stop(), None
