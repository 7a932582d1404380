// A substrate whose table is named otherwise than its file.
#include "broken/smallest.hpp"

SUBSTRATA_PUBLISH(othername, smallest::table("Somebody Else"));
