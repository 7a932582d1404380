// The structures on the machine and the program that are handed to clients.
#pragma once

#include <papi.h>

namespace substrata::capi {

// At fixed places; null before initialisation or where the system does not report it. Thread-safe.
const PAPI_hw_info_t* hardware();
const PAPI_exe_info_t* executable();
// Read anew at each call; a list handed out stays valid for the life of the process.
const PAPI_shlib_info_t* shared_objects();

}  // namespace substrata::capi
