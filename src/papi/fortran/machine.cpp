// Fortran: time, the machine, the program and devices.
#include <atomic>
#include <cstdint>

#include "papi/fortran/spelling.hpp"

using namespace substrata::capi;

FORTRAN(get_real_cyc, GET_REAL_CYC, (long long* cycles)) { *cycles = PAPI_get_real_cyc(); }
FORTRAN(get_real_nsec, GET_REAL_NSEC, (long long* ns)) { *ns = PAPI_get_real_nsec(); }
FORTRAN(get_real_usec, GET_REAL_USEC, (long long* us)) { *us = PAPI_get_real_usec(); }
FORTRAN(get_virt_cyc, GET_VIRT_CYC, (long long* cycles)) { *cycles = PAPI_get_virt_cyc(); }
FORTRAN(get_virt_usec, GET_VIRT_USEC, (long long* us)) { *us = PAPI_get_virt_usec(); }
FORTRAN(get_clockrate, GET_CLOCKRATE, (int* mhz)) { *mhz = PAPI_get_opt(PAPI_CLOCKRATE, nullptr); }

FORTRAN(get_hardware_info, GET_HARDWARE_INFO,
        (int* ncpu, int* nodes, int* total, int* vendor, char* vendor_name, int* model, char* model_name,
         float* revision, float* mhz, size_t vendor_length, size_t model_length)) {
  static const PAPI_hw_info_t kNothing{};
  const PAPI_hw_info_t* machine = PAPI_get_hardware_info();
  if (machine == nullptr) machine = &kNothing;
  *ncpu = machine->ncpu;
  *nodes = machine->nnodes;
  *total = machine->totalcpus;
  *vendor = machine->vendor;
  to_fortran(machine->vendor_string, vendor_name, vendor_length);
  *model = machine->model;
  to_fortran(machine->model_string, model_name, model_length);
  *revision = machine->revision;
  *mhz = static_cast<float>(machine->cpu_max_mhz);
}

FORTRAN(get_exe_info, GET_EXE_INFO,
        (char* fullname, char* name, long long* text_start, long long* text_end, long long* data_start,
         long long* data_end, long long* bss_start, long long* bss_end, int* check, size_t fullname_length,
         size_t name_length)) {
  const PAPI_exe_info_t* const program = PAPI_get_executable_info();
  if (program == nullptr) {
    *check = PAPI_EINVAL;
    return;
  }
  const auto number = [](vptr_t address) {
    return static_cast<long long>(reinterpret_cast<intptr_t>(address));
  };
  const PAPI_address_map_t& map = program->address_info;
  to_fortran(program->fullname, fullname, fullname_length);
  to_fortran(map.name, name, name_length);
  *text_start = number(map.text_start);
  *text_end = number(map.text_end);
  *data_start = number(map.data_start);
  *data_end = number(map.data_end);
  *bss_start = number(map.bss_start);
  *bss_end = number(map.bss_end);
  *check = PAPI_OK;
}

// values: PAPIF_DMEM_MAXVAL numbers, each at its PAPIF_DMEM_ place.
FORTRAN(get_dmem_info, GET_DMEM_INFO, (long long* values, int* check)) {
  PAPI_dmem_info_t memory{};
  *check = PAPI_get_dmem_info(&memory);
  if (*check != PAPI_OK) return;
  struct Place {
    int at;
    long long PAPI_dmem_info_t::*number;
  };
  using Info = PAPI_dmem_info_t;
  constexpr Place kPlaces[] = {
      {PAPIF_DMEM_VMPEAK, &Info::peak},       {PAPIF_DMEM_VMSIZE, &Info::size},
      {PAPIF_DMEM_RESIDENT, &Info::resident}, {PAPIF_DMEM_HIGH_WATER, &Info::high_water_mark},
      {PAPIF_DMEM_SHARED, &Info::shared},     {PAPIF_DMEM_TEXT, &Info::text},
      {PAPIF_DMEM_LIBRARY, &Info::library},   {PAPIF_DMEM_HEAP, &Info::heap},
      {PAPIF_DMEM_LOCKED, &Info::locked},     {PAPIF_DMEM_STACK, &Info::stack},
      {PAPIF_DMEM_PAGESIZE, &Info::pagesize}, {PAPIF_DMEM_PTE, &Info::pte}};
  for (const Place& place : kPlaces) values[place.at - 1] = memory.*place.number;
}

FORTRAN(get_preload, GET_PRELOAD, (char* variable, int* check, size_t length)) {
  PAPI_option_t option{};
  *check = PAPI_get_opt(PAPI_PRELOAD, &option);
  to_fortran(*check == PAPI_OK ? option.preload.lib_preload_env : "", variable, length);
}

namespace {
// A Fortran integer holds no address: the kind found last is remembered here, and the handle is 0.
std::atomic<void*> device_kind{nullptr};

// Fortran has one procedure for numbers and texts: which of the two an attribute is.
bool is_text(int attribute) noexcept {
  return attribute == PAPI_DEV_ATTR__CPU_CHAR_NAME || attribute == PAPI_DEV_ATTR__CUDA_CHAR_DEVICE_NAME ||
         attribute == PAPI_DEV_ATTR__ROCM_CHAR_DEVICE_NAME;
}
}  // namespace

FORTRAN(enum_dev_type, ENUM_DEV_TYPE, (int* modifier, int* handle, int* check)) {
  void* kind = device_kind.load();
  *check = PAPI_enum_dev_type(*modifier, &kind);
  device_kind.store(kind);
  *handle = 0;
}
FORTRAN(get_dev_type_attr, GET_DEV_TYPE_ATTR,
        (int* handle, int* attribute, int* value, char* text, int* check, size_t length)) {
  *handle = 0;
  const auto which = static_cast<PAPI_dev_type_attr_e>(*attribute);
  if (which == PAPI_DEV_TYPE_ATTR__CHAR_NAME || which == PAPI_DEV_TYPE_ATTR__CHAR_STATUS) {
    const char* found = nullptr;
    *check = PAPI_get_dev_type_attr(device_kind.load(), which, &found);
    if (*check == PAPI_OK) to_fortran(found, text, length);
  } else {
    *check = PAPI_get_dev_type_attr(device_kind.load(), which, value);
  }
}
FORTRAN(get_dev_attr, GET_DEV_ATTR,
        (int* handle, int* id, int* attribute, int* value, char* text, int* check, size_t length)) {
  *handle = 0;
  const auto which = static_cast<PAPI_dev_attr_e>(*attribute);
  if (is_text(*attribute)) {
    const char* found = nullptr;
    *check = PAPI_get_dev_attr(device_kind.load(), *id, which, &found);
    if (*check == PAPI_OK) to_fortran(found, text, length);
  } else {
    *check = PAPI_get_dev_attr(device_kind.load(), *id, which, value);
  }
}
