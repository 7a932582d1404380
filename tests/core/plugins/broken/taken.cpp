// A plug-in that wants the name of a built-in substrate.
#include "broken/smallest.hpp"

SUBSTRATA_PUBLISH(example, smallest::table("example"));
