"""libpapi, loaded once, with the types of the functions that are called."""

import ctypes
import os
import pathlib

NAME = "libpapi.so.7.3"


def _load() -> ctypes.CDLL:
    chosen = os.environ.get("SUBSTRATA_PAPI_LIBRARY")
    if chosen:
        return ctypes.CDLL(chosen)
    for root in pathlib.Path(__file__).resolve().parents[1:5]:  # the build tree, or the prefix above share
        for found in sorted(root.glob("lib/" + NAME)) + sorted(root.glob("lib/*/" + NAME)):
            return ctypes.CDLL(str(found))
    try:
        return ctypes.CDLL(NAME)
    except OSError as error:
        raise ImportError(
            f"{error}; set LD_LIBRARY_PATH to the folder of {NAME}, or SUBSTRATA_PAPI_LIBRARY to the file") from error


lib = _load()

_number, _text, _pointer = ctypes.c_longlong, ctypes.c_char_p, ctypes.c_void_p
for _names, _result in (
        ("get_real_cyc get_real_nsec get_real_usec get_virt_cyc get_virt_nsec get_virt_usec", _number),
        ("get_executable_info get_hardware_info get_component_info get_shared_lib_info", _pointer),
        ("strerror", _text),
        ("thread_id", ctypes.c_ulong),
        ("perror shutdown", None)):
    for _name in _names.split():
        getattr(lib, "PAPI_" + _name).restype = _result
lib.PAPI_attach.argtypes = [ctypes.c_int, ctypes.c_ulong]


def last_error() -> str:
    """What was asked in the thread's last refused call, what refused it, what to do; empty with another libpapi."""
    try:
        function = lib.substrata_last_error
    except AttributeError:
        return ""
    function.restype = _text
    return (function() or b"").decode(errors="replace")
