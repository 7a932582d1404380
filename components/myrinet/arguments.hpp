// The checks of what commands are given: shapes, stores in host memory, places to look at.
#pragma once

#include <substrata/myrinet.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "myrinet/host_store.hpp"
#include "myrinet/statistics.hpp"

namespace substrata::myrinet {

// Bytes of each interface's memory that statistics of the shape take.
uint64_t bytes_of(const Shape& shape) noexcept;
uint64_t bytes_of(const Shape& shape, const HostLayout& layout) noexcept;

// Between the layer's own shape and the C interface's, either way.
template <typename From, typename To>
void copy_shape(const From& from, To* out) noexcept {
  out->nodes = from.nodes;
  out->programs = from.programs;
  out->length_bins = from.length_bins;
  out->length_bin_bytes = from.length_bin_bytes;
  out->latency_bins = from.latency_bins;
  std::copy(std::begin(from.latency_bin_ns), std::end(from.latency_bin_ns), out->latency_bin_ns);
}

// False with the reason in `wrong`.
bool read_shape(const substrata_myrinet_shape& from, Shape* out, std::string* wrong);
bool read_host(const substrata_myrinet_shape* shape, const substrata_myrinet_host* host, Shape* out,
               HostLayout* layout, std::string* wrong);

// What is wrong with a place to look at; empty: nothing.
std::string objection(const Shape& shape, uint32_t node, uint32_t program, int axis);
// Of a histogram for which `space` counts can be taken.
std::string objection(const Shape& shape, uint32_t node, uint32_t program, int axis, uint32_t latency,
                      uint32_t x, uint32_t space);

}  // namespace substrata::myrinet
