"""One exception for each of PAPI's errors."""

import functools
from typing import Any, Callable, Dict, Optional, Tuple, Type, TypeVar

from ._library import last_error, lib

_Value = TypeVar("_Value")


class PapiError(Exception):
    """Base class of PAPI's errors."""

    c_name: Optional[str] = None
    c_value: Optional[int] = None

    def __init__(self, message: Optional[str] = None) -> None:
        super().__init__(f"{message or self.__doc__} ({self.c_name})")


class PapiInvalidValueError(PapiError):
    """An argument is wrong."""

    c_name, c_value = "PAPI_EINVAL", -1


class PapiNoMemoryError(PapiError):
    """There is no memory."""

    c_name, c_value = "PAPI_ENOMEM", -2


class PapiSystemError(PapiError):
    """A system or C library call failed."""

    c_name, c_value = "PAPI_ESYS", -3


class PapiComponentError(PapiError):
    """The component does not support it."""

    c_name, c_value = "PAPI_ECMP", -4


class PapiCountersLost(PapiError):
    """Access to the counters was lost."""

    c_name, c_value = "PAPI_ECLOST", -5


class PapiBugError(PapiError):
    """A defect of the library."""

    c_name, c_value = "PAPI_EBUG", -6


class PapiNoEventError(PapiError):
    """There is no such event."""

    c_name, c_value = "PAPI_ENOEVNT", -7


class PapiConflictError(PapiError):
    """The events cannot be counted together."""

    c_name, c_value = "PAPI_ECNFLCT", -8


class PapiNotRunningError(PapiError):
    """The eventset is not running."""

    c_name, c_value = "PAPI_ENOTRUN", -9


class PapiIsRunningError(PapiError):
    """An eventset is running."""

    c_name, c_value = "PAPI_EISRUN", -10


class PapiNoEventSetError(PapiError):
    """There is no such eventset."""

    c_name, c_value = "PAPI_ENOEVST", -11


class PapiNotPresetError(PapiError):
    """This is not a preset event."""

    c_name, c_value = "PAPI_ENOTPRESET", -12


class PapiNoCounterError(PapiError):
    """The hardware has no counters."""

    c_name, c_value = "PAPI_ENOCNTR", -13


class PapiMiscellaneousError(PapiError):
    """Another error."""

    c_name, c_value = "PAPI_EMISC", -14


class PapiPermissionError(PapiError):
    """Permission is refused."""

    c_name, c_value = "PAPI_EPERM", -15


class PapiInitializationError(PapiError):
    """PAPI is not initialised."""

    c_name, c_value = "PAPI_ENOINIT", -16


class PapiNoComponentError(PapiError):
    """There is no such component, or none is assigned."""

    c_name, c_value = "PAPI_ENOCMP", -17


class PapiNotSupportedError(PapiError):
    """This is not supported."""

    c_name, c_value = "PAPI_ENOSUPP", -18


class PapiNotImplementedError(PapiError):
    """This is not implemented."""

    c_name, c_value = "PAPI_ENOIMPL", -19


class PapiBufferError(PapiError):
    """A buffer is too small."""

    c_name, c_value = "PAPI_EBUF", -20


class PapiInvalidDomainError(PapiError):
    """The domain is not supported for this operation."""

    c_name, c_value = "PAPI_EINVAL_DOM", -21


class PapiAttributeError(PapiError):
    """Event attributes are wrong or missing."""

    c_name, c_value = "PAPI_EATTR", -22


class PapiCountError(PapiError):
    """There are too many events or attributes."""

    c_name, c_value = "PAPI_ECOUNT", -23


class PapiCombinationError(PapiError):
    """The features exclude each other."""

    c_name, c_value = "PAPI_ECOMBO", -24


_BY_VALUE: Dict[Optional[int], Type[PapiError]] = {kind.c_value: kind for kind in PapiError.__subclasses__()}


def papi_error(function: Callable[..., Tuple[int, _Value]]) -> Callable[..., _Value]:
    """Makes one that returns the value or raises of a function that returns PAPI's code and a value."""

    @functools.wraps(function)
    def raising(*args: Any, **kwargs: Any) -> _Value:
        code, value = function(*args, **kwargs)
        if code >= 0:
            return value
        text = (lib.PAPI_strerror(code) or b"").decode()
        detail = last_error()
        raise _BY_VALUE.get(code, PapiMiscellaneousError)(f"{text}: {detail}" if text and detail else text or detail)

    return raising
