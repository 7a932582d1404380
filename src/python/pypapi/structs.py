"""What PAPI's structures say, as Python objects that outlive them."""

import ctypes
from collections import namedtuple
from typing import Any, Dict, List, Optional, Type

_MIN, _MAX, _TWICE, _HUGE = (ctypes.c_char * size for size in (64, 128, 256, 1024))
_int, _long_long, _address = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p


def _structure(name: str, /, **fields: Any) -> Type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


def _integers(names: str) -> Dict[str, Any]:
    return {name: _int for name in names.split()}


class PAPI_Base:
    """A copy of a C structure: a text for an array of characters, a list for another array, an object for a structure
    or address."""

    _structure_: Type[ctypes.Structure]
    _objects_: Dict[str, Type["PAPI_Base"]] = {}

    def __init__(self, cdata: Any) -> None:
        for field in cdata._fields_:
            setattr(self, field[0], self._of(field[0], getattr(cdata, field[0])))

    def _of(self, name: str, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        if isinstance(value, ctypes.Array):
            return [self._of(name, part) for part in value]
        kind = self._objects_.get(name)
        return kind(value) if kind else value

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    @classmethod
    def at(cls, address: Optional[int]) -> Optional["PAPI_Base"]:
        """A copy of the structure at that address, None for a null one."""
        return cls(cls._structure_.from_address(address)) if address else None

    @classmethod
    def alloc_empty(cls) -> ctypes.Structure:
        """The C structure, all zero."""
        return cls._structure_()


class DMEM_info(PAPI_Base):
    """Memory of this process, in KiB; pagesize in bytes."""

    _structure_ = _structure("PAPI_dmem_info_t", **{name: _long_long for name in (
        "peak", "size", "resident", "high_water_mark", "shared", "text", "library", "heap", "locked", "stack",
        "pagesize", "pte")})


class EVENT_info(PAPI_Base):
    """An event: what it is called, what it measures, and what a preset is made of."""

    _structure_ = _structure(
        "PAPI_event_info_t", event_code=_int, symbol=_HUGE, short_descr=_MIN, long_descr=_HUGE, component_index=_int,
        units=_MIN, **_integers("location data_type value_type timescope update_type update_freq"),
        count=ctypes.c_uint, event_type=ctypes.c_uint, derived=_MIN, postfix=_TWICE, code=ctypes.c_uint * 12,
        name=_TWICE * 12, note=_HUGE, num_quals=_int, quals=_HUGE * 8, quals_descrs=_HUGE * 8)


class MH_tlb(PAPI_Base):
    """A translation look-aside buffer."""

    _structure_ = _structure("PAPI_mh_tlb_info_t", **_integers("type num_entries page_size associativity"))


class MH_cache(PAPI_Base):
    """A cache."""

    _structure_ = _structure("PAPI_mh_cache_info_t", **_integers("type size line_size num_lines associativity"))


class MH_level(PAPI_Base):
    """A level of the memory hierarchy."""

    _structure_ = _structure("PAPI_mh_level_t", tlb=MH_tlb._structure_ * 6, cache=MH_cache._structure_ * 6)
    _objects_ = {"tlb": MH_tlb, "cache": MH_cache}


class MH_info(PAPI_Base):
    """The memory hierarchy."""

    _structure_ = _structure("PAPI_mh_info_t", levels=_int, level=MH_level._structure_ * 4)
    _objects_ = {"level": MH_level}


class HARDWARE_info(PAPI_Base):
    """The machine."""

    _structure_ = _structure(
        "PAPI_hw_info_t", **_integers("ncpu threads cores sockets nnodes totalcpus vendor"), vendor_string=_MAX,
        model=_int, model_string=_MAX, revision=ctypes.c_float,
        **_integers("cpuid_family cpuid_model cpuid_stepping cpu_max_mhz cpu_min_mhz"),
        mem_hierarchy=MH_info._structure_, virtualized=_int, virtual_vendor_string=_MAX, virtual_vendor_version=_MAX,
        mhz=ctypes.c_float, clock_mhz=_int, reserved=_int * 8)
    _objects_ = {"mem_hierarchy": MH_info}


class ADDR_p(PAPI_Base):
    """An address, None for a null one."""

    def __init__(self, cdata: Optional[int]) -> None:
        self.addr = cdata

    def __repr__(self) -> str:
        return f"ADDR_p(addr={'NULL' if self.addr is None else hex(self.addr)})"


class ADDR_map(PAPI_Base):
    """Where a program or a shared library lies in memory."""

    _places = ("text_start", "text_end", "data_start", "data_end", "bss_start", "bss_end")
    _structure_ = _structure("PAPI_address_map_t", name=_HUGE, **{place: _address for place in _places})
    _objects_ = {place: ADDR_p for place in _places}

    def _of(self, name: str, value: Any) -> Any:
        return ADDR_p(value) if name in self._objects_ else super()._of(name, value)


class EXECUTABLE_info(PAPI_Base):
    """The program and where it lies in memory."""

    _structure_ = _structure("PAPI_exe_info_t", fullname=_HUGE, address_info=ADDR_map._structure_)
    _objects_ = {"address_info": ADDR_map}


class _Component(ctypes.Structure):
    _fields_ = [
        *_structure("_", name=_MAX, short_name=_MIN, description=_MAX, version=_MIN, support_version=_MIN,
                    kernel_version=_MIN, disabled_reason=_HUGE, disabled=_int, partially_disabled_reason=_HUGE,
                    **_integers("partially_disabled initialized CmpIdx num_cntrs num_mpx_cntrs num_preset_events"
                                " num_native_events default_domain available_domains default_granularity"
                                " available_granularities hardware_intr_sig component_type"),
                    pmu_names=ctypes.c_char_p * 80, reserved=_int * 8)._fields_,
        *((name, ctypes.c_uint, 1) for name in (
            "hardware_intr", "precise_intr", "posix1b_timers", "kernel_profile", "kernel_multiplex",
            "fast_counter_read", "fast_real_timer", "fast_virtual_timer", "attach", "attach_must_ptrace",
            "cntr_umasks", "cpu", "inherit")),
        ("reserved_bits", ctypes.c_uint, 19)]


class COMPONENT_info(PAPI_Base):
    """A component: what it is and can do."""

    _structure_ = _Component


class SHARED_LIB_info(PAPI_Base):
    """The shared libraries of the process."""

    _structure_ = _structure("PAPI_shlib_info_t", map=_address, count=_int)

    def __init__(self, cdata: Any) -> None:
        self.count: int = cdata.count
        maps = (ADDR_map._structure_ * self.count).from_address(cdata.map) if self.count else ()
        self.map: List[ADDR_map] = [ADDR_map(one) for one in maps]


Flips = namedtuple("Flips", "event rtime ptime flpins mflips")
Flops = namedtuple("Flops", "event rtime ptime flpops mflops")
IPC = namedtuple("IPC", "rtime ptime ins ipc")
EPC = namedtuple("EPC", "rtime ptime ref core evt epc")
