// What a tool does when memory, or the place for its output, is exhausted.
#pragma once

namespace substrata {

// From now on the program ends with status 1 and says why, where `new` finds no memory, in itself or in a library, and
// where at its end standard output could not be written: a list that lacks something is never taken for the whole.
void fail_loudly() noexcept;

}  // namespace substrata
