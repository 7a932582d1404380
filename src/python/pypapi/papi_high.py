"""Regions of a program: events come from PAPI_EVENTS, a report is written at exit."""

from typing import Tuple

from ._library import lib
from .exceptions import papi_error


@papi_error
def hl_region_begin(region: str) -> Tuple[int, int]:
    """Enters a region."""
    code = lib.PAPI_hl_region_begin(region.encode())
    return code, code


@papi_error
def hl_read(region: str) -> Tuple[int, int]:
    """Reads inside a region."""
    code = lib.PAPI_hl_read(region.encode())
    return code, code


@papi_error
def hl_region_end(region: str) -> Tuple[int, int]:
    """Leaves a region."""
    code = lib.PAPI_hl_region_end(region.encode())
    return code, code


@papi_error
def hl_stop() -> Tuple[int, int]:
    """Stops what the regions of this thread count."""
    code = lib.PAPI_hl_stop()
    return code, code
