// Computes expressions for many transactions at once: each instruction runs over a column of values, so that finding
// out which instruction comes next is paid once for up to 64 transactions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "owl/expression.hpp"
#include "owl/module.hpp"
#include "owl/names.hpp"

namespace substrata::owl {

class Table;

inline constexpr size_t kColumn = 64;

// Some transactions of a batch: all of `count` in a row, or those that are selected.
struct View {
  const Transaction* batch;
  const uint32_t* selected;  // null: all
  size_t count;
  const Transaction& operator[](size_t i) const noexcept {
    return batch[selected != nullptr ? selected[i] : i];
  }
};

// What expressions see beside the transactions.
struct Surroundings {
  const uint64_t* registers = nullptr;
  const Table* const* states = nullptr;  // by number
  const unsigned char* packet = nullptr;
  ObjectNames* objects = nullptr;
};

class Columns {
 public:
  // For expressions of this depth at most. Throws std::bad_alloc.
  explicit Columns(unsigned depth) : stack_((depth + 1) * kColumn) {}
  // A value for each transaction of the view, of which there are at most kColumn. Valid until the next call.
  const uint64_t* evaluate(const Expression& expression, const View& view,
                           const Surroundings& around) noexcept;

 private:
  std::vector<uint64_t> stack_;
};

}  // namespace substrata::owl
