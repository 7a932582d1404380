// Zstandard, which packs traces. Without it no trace is written or read.
#include <zstd.h>

#include "late/late.hpp"

namespace {
constinit substrata::late::Library zstd(SUBSTRATA_LATE_NAME);
}

#define ZSTD(...) SUBSTRATA_LATE(zstd, __VA_ARGS__)
ZSTD(ZSTD_CCtx*, ZSTD_createCCtx, (), (), nullptr)
ZSTD(size_t, ZSTD_freeCCtx, (ZSTD_CCtx * context), (context), 0)
ZSTD(size_t, ZSTD_CCtx_setParameter, (ZSTD_CCtx * context, ZSTD_cParameter which, int value),
     (context, which, value), static_cast<size_t>(-1))
ZSTD(size_t, ZSTD_compressBound, (size_t size), (size), 0)
ZSTD(size_t, ZSTD_compress2, (ZSTD_CCtx * context, void* out, size_t capacity, const void* data, size_t size),
     (context, out, capacity, data, size), static_cast<size_t>(-1))
ZSTD(unsigned, ZSTD_isError, (size_t result), (result), 1)
ZSTD(ZSTD_DCtx*, ZSTD_createDCtx, (), (), nullptr)
ZSTD(size_t, ZSTD_freeDCtx, (ZSTD_DCtx * context), (context), 0)
ZSTD(size_t, ZSTD_decompressDCtx,
     (ZSTD_DCtx * context, void* out, size_t capacity, const void* data, size_t size),
     (context, out, capacity, data, size), static_cast<size_t>(-1))
ZSTD(unsigned long long, ZSTD_getFrameContentSize, (const void* data, size_t size), (data, size),
     ZSTD_CONTENTSIZE_ERROR)
