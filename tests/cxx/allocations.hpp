// How often the calling thread has allocated; -1 in builds with sanitizers, which do not say.
#pragma once

long allocations() noexcept;
// The bytes it asked for in them.
long allocated_bytes() noexcept;
