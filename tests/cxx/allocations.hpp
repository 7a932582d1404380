// How often the calling thread has allocated; -1 in builds with sanitizers, which do not tell.
#ifndef SUBSTRATA_TESTS_CXX_ALLOCATIONS_HPP
#define SUBSTRATA_TESTS_CXX_ALLOCATIONS_HPP

long allocations() noexcept;
// The bytes it asked for in them.
long allocated_bytes() noexcept;

#endif
