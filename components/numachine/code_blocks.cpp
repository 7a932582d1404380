// Finds where x86-64 instructions end, and leaves out those of the access tracer.
#include "numachine/code_blocks.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: chapter 2 (formats) and appendix A
// (opcode maps).
namespace substrata::numachine {
namespace {

#ifdef __x86_64__
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif
constexpr unsigned kMostBytes = 15;       // of an instruction
constexpr unsigned kMostSteps = 1 << 14;  // along a block; its path may be a loop
constexpr std::uint8_t kCall = 0xe8, kJump = 0xe9, kShortJump = 0xeb, kReturn = 0xc3,
                       kShortBranchIfEqual = 0x74;

template <typename Value>
Value read(const std::uint8_t* at) noexcept {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// What follows the opcode.
struct Operands {
  bool known = true;
  bool modrm = false;
  unsigned immediate = 0;
};

bool is_between(std::uint8_t value, unsigned low, unsigned high) noexcept {
  return value >= low && value <= high;
}

Operands of_one_byte(std::uint8_t op, std::uint8_t modrm, unsigned word, bool wide,
                     bool short_address) noexcept {
  const unsigned low = op & 7U;
  if (op < 0x40) {
    if (low < 4) return {true, true, 0};
    if (low == 4) return {true, false, 1};
    if (low == 5) return {true, false, word};
    return {false, false, 0};
  }
  if (is_between(op, 0xb8, 0xbf)) return {true, false, wide ? 8 : word};
  if (is_between(op, 0xa0, 0xa3)) return {true, false, short_address ? 4U : 8U};
  if (op == 0xf6) return {true, true, (modrm & 0x38U) < 0x10 ? 1U : 0U};
  if (op == 0xf7) return {true, true, (modrm & 0x38U) < 0x10 ? word : 0U};
  switch (op) {
    case 0x68:
    case 0xa9:
      return {true, false, word};
    case 0x69:
    case 0x81:
    case 0xc7:
      return {true, true, word};
    case kCall:
    case kJump:
      return {true, false, 4};
    case 0xc2:
    case 0xca:
      return {true, false, 2};
    case 0xc8:
      return {true, false, 3};
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return {true, true, 1};
    case 0x6a:
    case 0xa8:
    case 0xcd:
    case kShortJump:
      return {true, false, 1};
    case 0x60:
    case 0x61:
    case 0x62:
    case 0x82:
    case 0x9a:
    case 0xc4:
    case 0xc5:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xea:
      return {false, false, 0};
    default:
      break;
  }
  if (is_between(op, 0x70, 0x7f) || is_between(op, 0xb0, 0xb7) || is_between(op, 0xe0, 0xe7))
    return {true, false, 1};
  const bool modrm_follows = op == 0x63 || is_between(op, 0x84, 0x8f) || is_between(op, 0xd0, 0xd3) ||
                             is_between(op, 0xd8, 0xdf) || op == 0xfe || op == 0xff;
  return {true, modrm_follows, 0};
}

// Behind 0f.
Operands of_two_bytes(std::uint8_t op) noexcept {
  if (is_between(op, 0x80, 0x8f)) return {true, false, 4};
  if (is_between(op, 0x30, 0x37) || is_between(op, 0xc8, 0xcf) || is_between(op, 0x05, 0x09))
    return {true, false, 0};
  switch (op) {
    case 0x0b:
    case 0x0e:
    case 0x77:
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa8:
    case 0xa9:
    case 0xaa:
      return {true, false, 0};
    case 0x0f:
    case 0x70:
    case 0x71:
    case 0x72:
    case 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return {true, true, 1};
    default:
      return {true, true, 0};
  }
}

// Of the maps 1 (0f), 2 (0f 38), 3 (0f 3a), and of those that EVEX alone has.
Operands of_map(unsigned map, std::uint8_t op) noexcept {
  if (map == 1) return of_two_bytes(op);
  return {map != 0, true, map == 3 ? 1U : 0U};
}

unsigned bytes_of_address(const std::uint8_t* at) noexcept {
  const unsigned mode = at[0] >> 6U;
  const unsigned base = at[0] & 7U;
  if (mode == 3) return 1;
  const bool has_index = base == 4;
  const unsigned fixed = has_index ? 2 : 1;
  if (mode == 1) return fixed + 1;
  if (mode == 2) return fixed + 4;
  const bool absolute = (has_index ? at[1] & 7U : base) == 5;
  return fixed + (absolute ? 4U : 0U);
}

const std::uint8_t* code_at(std::uintptr_t address) noexcept {
  return reinterpret_cast<const std::uint8_t*>(address);
}
// Where a displacement of four bytes leads.
std::uintptr_t led_to(const std::uint8_t* displacement) noexcept {
  return reinterpret_cast<std::uintptr_t>(displacement) + 4 +
         static_cast<std::uintptr_t>(static_cast<std::intptr_t>(read<std::int32_t>(displacement)));
}

// The tracer's hooks that stand in the program's code (inlined_hooks.s). Null: none is here.
struct Inlined {
  const std::uint8_t* end = nullptr;
  Callee stands_for = Callee::kOther;
};
template <typename IsHere>
Inlined inlined_at(const std::uint8_t* at, const IsHere& is_here, CalleeAt callee) noexcept {
  // mov N(%rip), %rdx; cmp %rdx, %fs:N; je END, which earlier ones did not have
  constexpr std::uint8_t kSalt[] = {0x48, 0x8b, 0x15}, kIdle[] = {0x64, 0x48, 0x39, 0x14, 0x25};
  const std::uint8_t* table = at;
  const std::uint8_t* const idle = at + sizeof kSalt + 4;
  if (std::memcmp(at, kSalt, sizeof kSalt) == 0 && std::memcmp(idle, kIdle, sizeof kIdle) == 0) {
    const std::uint8_t* const branch = idle + sizeof kIdle + 4;
    table = branch + (branch[0] == kShortBranchIfEqual ? 2 : 6);
  }
  // mov %fs:N, %rax; lea END(%rip) to %rcx, in earlier ones %rdx, at an access, to %rdi at a function's begin
  constexpr std::uint8_t kTable[] = {0x64, 0x48, 0x8b, 0x04, 0x25};
  const std::uint8_t* const end = table + sizeof kTable + 4;
  if (std::memcmp(table, kTable, sizeof kTable) == 0 && end[0] == 0x48 && end[1] == 0x8d &&
      (end[2] == 0x0d || end[2] == 0x15 || end[2] == 0x3d))
    return {code_at(led_to(end + 3)), end[2] == 0x3d ? Callee::kEntry : Callee::kAccess};
  // cmpl $0, N(%rip); jne to a call of the function's end
  if (at[0] == 0x83 && at[1] == 0x3d && at[6] == 0 && at[7] == 0x0f && at[8] == 0x85) {
    const std::uint8_t* const other = code_at(led_to(at + 9));
    if (is_here(other) && other[0] == kCall && callee(led_to(other + 1)) == Callee::kExit)
      return {at + 13, Callee::kExit};
  }
  return {};
}

// With prefixes before the opcode?
bool is_padding(const std::uint8_t* at, unsigned bytes) noexcept {
  unsigned first = 0;
  while (first + 1 < bytes && (at[first] == 0x66 || at[first] == 0x2e)) ++first;
  return at[first] == 0x0f && at[first + 1] == 0x1f;
}

// A return, ud2, a jump to where a register or memory says; and a branch back, which goes on with a loop most often.
bool ends_path(const std::uint8_t* op) noexcept {
  if (*op == 0x0f) {
    if (op[1] == 0x0b) return true;
    return is_between(op[1], 0x80, 0x8f) && read<std::int32_t>(op + 2) < 0;
  }
  if (is_between(*op, 0x70, 0x7f)) return static_cast<std::int8_t>(op[1]) < 0;
  return *op == kReturn || (*op == 0xff && (op[1] & 0x38U) == 0x20);
}

// The loaded code that an address is in; empty: none.
std::span<const std::uint8_t> code_around(std::uintptr_t address) {
  struct Search {
    std::uintptr_t address;
    std::span<const std::uint8_t> found;
  } search{address, {}};
  const auto look = [](dl_phdr_info* object, std::size_t, void* into) {
    Search& wanted = *static_cast<Search*>(into);
    for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
      const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
      constexpr unsigned kCode = PF_R | PF_X;
      if (part.p_type == PT_LOAD && (part.p_flags & kCode) == kCode && wanted.address - begin < part.p_memsz)
        wanted.found = {code_at(begin), part.p_memsz};
    }
    return wanted.found.empty() ? 0 : 1;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

Callee callee_by_name(std::uintptr_t address) {
  Dl_info known{};
  if (dladdr(code_at(address), &known) == 0 || known.dli_sname == nullptr ||
      known.dli_saddr != code_at(address))
    return Callee::kOther;
  const std::string_view name = known.dli_sname;
  if (name == "__sanitizer_cov_trace_pc") return Callee::kBlock;
  if (name == "__tsan_func_exit") return Callee::kExit;
  if (name == "__tsan_func_entry") return Callee::kEntry;
  return name.starts_with("__tsan_") ? Callee::kAccess : Callee::kOther;
}

}  // namespace

unsigned instruction_bytes(const std::uint8_t* code) noexcept {
  const std::uint8_t* at = code;
  bool short_word = false, short_address = false, wide = false;
  for (; at < code + kMostBytes; ++at) {
    short_word = short_word || *at == 0x66;
    short_address = short_address || *at == 0x67;
    constexpr std::string_view kOthers = "\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65";
    if (*at != 0x66 && *at != 0x67 && kOthers.find(static_cast<char>(*at)) == std::string_view::npos) break;
  }
  if ((*at & 0xf0U) == 0x40) wide = (*at++ & 8U) != 0;
  Operands operands;
  if (*at == 0xc5) {
    operands = of_map(1, at[2]);
    at += 3;
  } else if (*at == 0xc4) {
    operands = of_map(at[1] & 0x1fU, at[3]);
    at += 4;
  } else if (*at == 0x62) {
    operands = of_map(at[1] & 7U, at[4]);
    at += 5;
  } else if (*at != 0x0f) {
    operands = of_one_byte(at[0], at[1], short_word && !wide ? 2 : 4, wide, short_address);
    ++at;
  } else if (at[1] == 0x38 || at[1] == 0x3a) {
    operands = of_map(at[1] == 0x38 ? 2 : 3, at[2]);
    at += 3;
  } else {
    operands = of_two_bytes(at[1]);
    at += 2;
  }
  if (!operands.known) return 0;
  if (operands.modrm) at += bytes_of_address(at);
  return static_cast<unsigned>(at - code) + operands.immediate;
}

BlockCode code_of_block(std::uintptr_t block, std::span<const std::uint8_t> code, CalleeAt callee) noexcept {
  BlockCode found;
  // With space for what is looked at before it is known to be an instruction.
  constexpr std::size_t kLookedAt = 48;
  const auto is_here = [code](const std::uint8_t* at) {
    const auto before = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(code.data());
    return before < code.size() && code.size() - before >= kLookedAt;
  };
  // The address that a hook is given is put into a register before.
  const auto leave_out = [&found](Callee hook) {
    if (hook == Callee::kAccess) ++found.accesses;
    if (hook != Callee::kExit && found.instructions != 0) --found.instructions;
  };
  const std::uint8_t* at = code_at(block);
  if (!is_here(at - 5) || at[-5] != kCall || callee(led_to(at - 4)) != Callee::kBlock) return found;
  for (unsigned steps = 0; steps < kMostSteps && is_here(at); ++steps) {
    if (const Inlined hook = inlined_at(at, is_here, callee); hook.end != nullptr) {
      leave_out(hook.stands_for);
      at = hook.end;
      continue;
    }
    const unsigned bytes = instruction_bytes(at);
    if (bytes == 0) return found;
    const std::uint8_t* op = at;
    while (*op == 0x67 || *op == 0xf2 || *op == 0xf3 || *op == 0x3e) ++op;
    if (*op == kCall) {
      const Callee called = callee(led_to(op + 1));
      if (called == Callee::kBlock) return found;
      called == Callee::kOther ? static_cast<void>(++found.instructions) : leave_out(called);
      at += bytes;
      continue;
    }
    if (!is_padding(at, bytes)) ++found.instructions;
    const std::uint8_t* next = at + bytes;
    if (*op == kJump) {
      // To the hook at a function's end: in the place of a return.
      if (callee(led_to(op + 1)) != Callee::kOther) return found;
      next = code_at(led_to(op + 1));
    } else if (*op == kShortJump) {
      next += static_cast<std::int8_t>(op[1]);
    } else if (ends_path(op)) {
      return found;
    }
    at = next;
  }
  return found;
}

std::uint32_t CodeBlocks::computed_at(std::uint64_t block) {
  const auto [known, is_new] = known_.try_emplace(block, 0);
  if (is_new && kIsX86) {
    const BlockCode code = code_of_block(block, code_around(block), callee_by_name);
    known->second = code.instructions - std::min(code.instructions, code.accesses + 1);
  }
  return known->second;
}

}  // namespace substrata::numachine
