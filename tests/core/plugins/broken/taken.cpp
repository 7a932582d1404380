// A plug-in that wants the name of a built-in substrate.
#include "support/smallest_substrate.hpp"

SUBSTRATA_PUBLISH(example, smallest::table("example"));
