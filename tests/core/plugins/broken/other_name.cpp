// A substrate whose table is named otherwise than its file.
#include "support/smallest_substrate.hpp"

SUBSTRATA_PUBLISH(othername, smallest::table("Another Name"));
