// The component structures handed to clients, shared by the chapters that hand them out.
#pragma once

#include <papi.h>

namespace substrata::capi {

// The structure of a component, at a fixed place; null for a bad index. Before initialisation only what the
// component's table says. Thread-safe.
const PAPI_component_info_t* component_info(int index);

}  // namespace substrata::capi
