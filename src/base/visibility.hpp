// What libsubstrata's own companions (the two libpapi, the MPI sources) call in it.
#pragma once

// Marks a function of the layer as one of libsubstrata's private interface. It is exported under the version node
// SUBSTRATA_PRIVATE_<version>, which only libraries built together with it ask for; what is not marked is hidden.
#define SUBSTRATA_PRIVATE_API __attribute__((visibility("default")))
