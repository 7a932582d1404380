// What the program's counters came to, written down for a tool outside of the process.
#pragma once

#include "papi/sde/registry.hpp"

namespace substrata::sde {

// Appends a line "LIBRARY::EVENT<tab>NUMBER" for each number among the events of a library, or for one event, to the
// file that SUBSTRATA_SDE_TOTALS names; nothing where it names none, and nothing in a forked child, whose counters hold
// what its parent counted. To be called before the program takes the counters back; what is left is written at the end
// of the process, but for counters that are functions of the program: those may not be called any more then.
// Thread-safe.
void write_totals(const Library& library);
void write_totals(Counter& counter);

}  // namespace substrata::sde
