// The loads that src/papers/owl_programs/molecules.c makes while it computes the forces between its atoms.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes the atoms and their lists of neighbours, then calls for every load of one evaluation of all forces. Addresses
// are the same in every process: atoms lie behind each other as the C library's allocator puts them. The number of
// pairs; 0: no memory.
uint64_t substrata_molecules_loads(void (*load)(void* owner, uint64_t address), void* owner);

#ifdef __cplusplus
}
#endif
