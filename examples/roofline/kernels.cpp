// A triad as STREAM's and a matrix product in blocks, which publish their operations and the bytes that they move, so
// that `substrata roofline -- kernels` places each below the machine's roofs.
#include <sde_lib.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

// What a region did so far: the events "kernels::NAME:FLOP" and "kernels::NAME:MEM_BYTES".
struct Counts {
  long long operations = 0;
  long long bytes = 0;
  double seconds = 0;  // that it ran
};

double seconds_run() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void publish(papi_handle_t handle, const std::string& region, Counts& counts) {
  papi_sde_register_counter(handle, (region + ":FLOP").c_str(), PAPI_SDE_RO | PAPI_SDE_DELTA,
                            PAPI_SDE_long_long, &counts.operations);
  papi_sde_register_counter(handle, (region + ":MEM_BYTES").c_str(), PAPI_SDE_RO | PAPI_SDE_DELTA,
                            PAPI_SDE_long_long, &counts.bytes);
}

// Lines that `substrata` takes as begin and end of a region; nothing where no tool listens.
void mark(const std::string& verb, const std::string& region) {
  const char* file = std::getenv("SUBSTRATA_MARKS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << verb + " " + region + "\n";
}

// a[i] = b[i] + factor * c[i]: two operations an element; two loads and a store of eight bytes, as STREAM counts.
void triad(std::size_t count, int repeats, Counts& counts) {
  std::vector<double> a(count, 0.0), b(count, 1.0), c(count, 2.0);
  mark("begin", "triad");
  const double begin = seconds_run();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 0.5 * c[i];
    std::swap(a, b);
  }
  counts.seconds += seconds_run() - begin;
  mark("end", "triad");
  counts.operations += 2LL * static_cast<long long>(count) * repeats;
  counts.bytes += 24LL * static_cast<long long>(count) * repeats;
  if (b[count / 2] < 0) std::puts("never");
}

// Of vectors of so many bytes: how many rows and vectors of a tile of c stay in registers.
template <std::size_t kBytes, std::size_t kTileRows, std::size_t kVectors>
struct Tile {
  typedef double Vector __attribute__((vector_size(kBytes)));
  typedef double InMemory __attribute__((vector_size(kBytes), aligned(8), may_alias));
  static constexpr std::size_t kLanes = kBytes / sizeof(double);
  static constexpr std::size_t kRows = kTileRows;
  static constexpr std::size_t kColumns = kVectors * kLanes;

  // The sums of `depth` products for one tile. `a` has the tile's rows side by side, `b` its columns.
  [[gnu::always_inline]] static void sums(const double* a, const double* b, std::size_t depth, double* out) {
    Vector tile[kRows][kVectors] = {};
    for (std::size_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
      Vector right[kVectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v)
        right[v] = *reinterpret_cast<const InMemory*>(b + v * kLanes);
#pragma GCC unroll 16
      for (std::size_t row = 0; row < kRows; ++row)
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) tile[row][v] += a[row] * right[v];
    }
    // One by one: an array that is copied whole would lie in memory all the time.
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kRows; ++row)
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v)
        *reinterpret_cast<InMemory*>(out + row * kColumns + v * kLanes) = tile[row][v];
  }
};

// How a tile of c is computed with one width of vectors.
struct Kernel {
  std::size_t rows, columns;
  void (*sums)(const double* a, const double* b, std::size_t depth, double* out);
};
using Narrow = Tile<16, 4, 2>;  // in sixteen registers
void narrow_sums(const double* a, const double* b, std::size_t depth, double* out) {
  Narrow::sums(a, b, depth, out);
}
#ifdef __x86_64__
using Wide = Tile<32, 6, 2>;     // likewise
using Widest = Tile<64, 12, 2>;  // in thirty-two
[[gnu::target("avx2,fma")]] void wide_sums(const double* a, const double* b, std::size_t depth, double* out) {
  Wide::sums(a, b, depth, out);
}
[[gnu::target("avx512f,fma")]] void widest_sums(const double* a, const double* b, std::size_t depth,
                                                double* out) {
  Widest::sums(a, b, depth, out);
}
#endif

Kernel kernel_here() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {Widest::kRows, Widest::kColumns, widest_sums};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {Wide::kRows, Wide::kColumns, wide_sums};
#endif
  return {Narrow::kRows, Narrow::kColumns, narrow_sums};
}

// A block of a matrix in strips of `width` rows (or columns), each as the tiles read it; short strips end in zeros.
// `along` is the distance between two neighbours in a strip, `across` that between its elements of one row.
void pack(const double* from, std::size_t along, std::size_t across, std::size_t block, std::size_t width,
          double* to) {
  for (std::size_t strip = 0; strip < block; strip += width)
    for (std::size_t k = 0; k < block; ++k)
      for (std::size_t i = 0; i < width; ++i)
        *to++ = strip + i < block ? from[(strip + i) * along + k * across] : 0;
}

// c += a * b of one packed block each.
void multiply(const Kernel& kernel, const double* a, const double* b, double* c, std::size_t size,
              std::size_t block) {
  alignas(64) double tile[Tile<64, 12, 2>::kRows * Tile<64, 12, 2>::kColumns];
  for (std::size_t j = 0; j < block; j += kernel.columns)
    for (std::size_t i = 0; i < block; i += kernel.rows) {
      kernel.sums(a + i * block, b + j * block, block, tile);
      const std::size_t rows = std::min(kernel.rows, block - i),
                        columns = std::min(kernel.columns, block - j);
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
          c[(i + row) * size + j + column] += tile[row * kernel.columns + column];
    }
}

// c += a * b in blocks that stay in the near caches. Both matrices are first copied as the tiles read them; then of
// each product of two blocks both are loaded, and a block of c is loaded and stored once for all products that go into
// it.
void product(std::size_t size, std::size_t block, Counts& counts) {
  std::vector<double> a(size * size, 1.0), b(size * size, 0.5), c(size * size, 0.0);
  const Kernel kernel = kernel_here();
  const auto padded = [&](std::size_t width) { return (block + width - 1) / width * width * block; };
  const std::size_t blocks = size / block, of_a = padded(kernel.rows), of_b = padded(kernel.columns);
  std::vector<double> left(blocks * of_a), right(blocks * blocks * of_b);
  constexpr long long kElement = sizeof(double);
  const long long elements = static_cast<long long>(block * block), products = static_cast<long long>(block);
  mark("begin", "product");
  const double begin = seconds_run();
  for (std::size_t k = 0; k < blocks; ++k)
    for (std::size_t j = 0; j < blocks; ++j) {
      pack(&b[k * block * size + j * block], 1, size, block, kernel.columns, &right[(j * blocks + k) * of_b]);
      counts.bytes += 2 * elements * kElement;
    }
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t k = 0; k < blocks; ++k) {
      pack(&a[i * block * size + k * block], size, 1, block, kernel.rows, &left[k * of_a]);
      counts.bytes += 2 * elements * kElement;
    }
    for (std::size_t j = 0; j < blocks; ++j) {
      for (std::size_t k = 0; k < blocks; ++k) {
        multiply(kernel, &left[k * of_a], &right[(j * blocks + k) * of_b], &c[i * block * size + j * block],
                 size, block);
        counts.operations += 2 * elements * products;
        counts.bytes += 2 * elements * kElement;
      }
      counts.bytes += 2 * elements * kElement;
    }
  }
  counts.seconds += seconds_run() - begin;
  mark("end", "product");
  for (const double element : c)
    if (element != 0.5 * static_cast<double>(size)) {
      std::puts("the product is wrong");
      std::exit(1);
    }
}

}  // namespace

// kernels [ELEMENTS] [REPEATS] [SIZE] [BLOCK]
int main(int argc, char** argv) {
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  const std::size_t elements = number(1, 8'000'000), repeats = number(2, 10), size = number(3, 1536),
                    block = number(4, 96);
  if (elements == 0 || block == 0 || size == 0 || size % block != 0) {
    std::fprintf(stderr, "kernels: BLOCK must divide SIZE, and none be 0\n");
    return 2;
  }
  static Counts of_triad, of_product;
  papi_handle_t handle = papi_sde_init("kernels");
  publish(handle, "triad", of_triad);
  publish(handle, "product", of_product);
  triad(elements, static_cast<int>(repeats), of_triad);
  product(size, block, of_product);
  const auto print = [](const char* name, const Counts& counts) {
    std::printf("%s: %lld FLOP, %lld bytes, %.6f s of processor time\n", name, counts.operations,
                counts.bytes, counts.seconds);
  };
  print("triad", of_triad);
  print("product", of_product);
  return 0;
}
