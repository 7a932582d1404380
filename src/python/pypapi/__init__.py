"""PAPI for Python, with the modules and names of PyPAPI, over libpapi by ctypes."""

from . import consts, events, exceptions, papi_high, papi_low, structs

__all__ = ["papi_high", "papi_low", "events", "consts", "exceptions", "structs"]
