// A triad as STREAM's and a matrix product in blocks, which publish their operations and the bytes that they move, so
// that `substrata roofline -- kernels` places each below the machine's roofs.
#include <sde_lib.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

// What a region did so far: the events "kernels::NAME:FLOP" and "kernels::NAME:MEM_BYTES".
struct Counts {
  long long operations = 0;
  long long bytes = 0;
};

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
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 0.5 * c[i];
    std::swap(a, b);
  }
  mark("end", "triad");
  counts.operations += 2LL * static_cast<long long>(count) * repeats;
  counts.bytes += 24LL * static_cast<long long>(count) * repeats;
  if (b[count / 2] < 0) std::puts("never");
}

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__
#define WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
typedef double Vector __attribute__((vector_size(32)));
#else
#define WIDEST_VECTORS
typedef double Vector __attribute__((vector_size(16)));
#endif
constexpr std::size_t kLanes = sizeof(Vector) / sizeof(double);

// c += a * b of one block each: four rows of eight sums stay in registers.
WIDEST_VECTORS void multiply(const double* a, const double* b, double* c, std::size_t size,
                             std::size_t block) {
  constexpr std::size_t kRows = 4, kColumns = 8, kVectors = kColumns / kLanes;
  for (std::size_t i = 0; i < block; i += kRows)
    for (std::size_t j = 0; j < block; j += kColumns) {
      Vector sums[kRows][kVectors] = {};
      for (std::size_t k = 0; k < block; ++k) {
        Vector right[kVectors];
        std::memcpy(right, b + k * block + j, sizeof right);
        for (std::size_t row = 0; row < kRows; ++row)
          for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] += a[(i + row) * block + k] * right[v];
      }
      for (std::size_t row = 0; row < kRows; ++row)
        for (std::size_t v = 0; v < kVectors; ++v)
          for (std::size_t lane = 0; lane < kLanes; ++lane)
            c[(i + row) * size + j + v * kLanes + lane] += sums[row][v][lane];
    }
}

// c += a * b in blocks that stay in the nearest cache. Of each product of two blocks both are loaded, and a block of c
// is loaded and stored once for all products that go into it.
void product(std::size_t size, std::size_t block, Counts& counts) {
  std::vector<double> a(size * size, 1.0), b(size * size, 0.5), c(size * size, 0.0);
  std::vector<double> left(block * block), right(block * block);
  mark("begin", "product");
  for (std::size_t i0 = 0; i0 < size; i0 += block)
    for (std::size_t j0 = 0; j0 < size; j0 += block) {
      for (std::size_t k0 = 0; k0 < size; k0 += block) {
        // Rows of a large matrix compete for the same places of a cache: the blocks are copied together.
        for (std::size_t row = 0; row < block; ++row) {
          std::copy_n(&a[(i0 + row) * size + k0], block, &left[row * block]);
          std::copy_n(&b[(k0 + row) * size + j0], block, &right[row * block]);
        }
        multiply(left.data(), right.data(), &c[i0 * size + j0], size, block);
        counts.operations += 2LL * static_cast<long long>(block * block * block);
        counts.bytes += 2LL * static_cast<long long>(block * block * sizeof(double));
      }
      counts.bytes += 2LL * static_cast<long long>(block * block * sizeof(double));
    }
  mark("end", "product");
  if (c[size + 1] < 0) std::puts("never");
}

}  // namespace

// kernels [ELEMENTS] [REPEATS] [SIZE] [BLOCK]
int main(int argc, char** argv) {
  const auto number = [&](int at, std::size_t otherwise) {
    return argc > at ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  const std::size_t elements = number(1, 8'000'000), repeats = number(2, 10), size = number(3, 768),
                    block = number(4, 48);
  if (elements == 0 || block == 0 || size == 0 || size % block != 0 || block % 8 != 0) {
    std::fprintf(stderr, "kernels: BLOCK must divide SIZE and be a multiple of 8, and none be 0\n");
    return 2;
  }
  static Counts of_triad, of_product;
  papi_handle_t handle = papi_sde_init("kernels");
  publish(handle, "triad", of_triad);
  publish(handle, "product", of_product);
  triad(elements, static_cast<int>(repeats), of_triad);
  product(size, block, of_product);
  std::printf("triad: %lld FLOP, %lld bytes\nproduct: %lld FLOP, %lld bytes\n", of_triad.operations,
              of_triad.bytes, of_product.operations, of_product.bytes);
  return 0;
}
