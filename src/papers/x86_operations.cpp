// Reads, writes and units of x86-64 instructions, from capstone's decoding.
#include "papers/x86_operations.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#ifdef SUBSTRATA_HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

namespace substrata::papers {

Operation& Expansion::add(Work work, uint64_t reads, uint64_t writes) {
  Operation& made = operations_[count_++];
  made = Operation{};
  made.work = work;
  made.reads = reads;
  made.writes = writes;
  made.place = place_;
  return made;
}

void Expansion::make(const Recipe& recipe, const Step* steps, unsigned accesses, uint64_t next) {
  count_ = 0;
  place_ = recipe.address;
  constexpr uint64_t kLoaded = uint64_t{1} << kLoadedBit;
  bool loads = false;
  bool stores = false;
  for (unsigned i = 0; i < accesses; ++i) (steps[i].write ? stores : loads) = true;
  // A plain load writes its register itself, and a plain store reads it.
  const bool straight = recipe.moves && recipe.branch == Branch::kNone;
  const uint64_t loaded_into = straight && !stores && recipe.writes != 0 ? recipe.writes : kLoaded;
  const Work load = recipe.float_value ? Work::kFloatLoad : Work::kLoad;
  for (unsigned i = 0; i < accesses; ++i) {
    if (!steps[i].write) add(load, recipe.pointers, loaded_into).address = steps[i].address;
  }
  if (recipe.branch != Branch::kNone || recipe.steps || !straight || accesses == 0) {
    uint64_t reads = recipe.reads;
    uint64_t writes = recipe.writes;
    if (recipe.steps) reads |= recipe.pointers;
    if (loads && !(recipe.steps && recipe.moves)) reads |= kLoaded;
    if (stores && !recipe.steps && recipe.branch == Branch::kNone) writes |= kLoaded;
    Operation& made = add(recipe.work, reads, writes);
    made.branch = recipe.branch;
    made.behind = recipe.behind;
    made.next = next;
  }
  if (!stores) return;
  const bool computed = !straight && !recipe.steps && recipe.branch == Branch::kNone;
  uint64_t data = recipe.pointers;
  if (recipe.branch == Branch::kNone) data |= loads || computed ? kLoaded : recipe.reads;
  for (unsigned i = 0; i < accesses; ++i) {
    if (steps[i].write) add(Work::kStore, data, 0).address = steps[i].address;
  }
}

#ifdef SUBSTRATA_HAVE_CAPSTONE

namespace {

// The bit of a register, or 0 for one that nothing waits for.
uint64_t bit_of(unsigned reg) {
  const auto bit = [](unsigned number) { return uint64_t{1} << number; };
  switch (reg) {
    case X86_REG_RAX:
    case X86_REG_EAX:
    case X86_REG_AX:
    case X86_REG_AL:
    case X86_REG_AH:
      return bit(0);
    case X86_REG_RCX:
    case X86_REG_ECX:
    case X86_REG_CX:
    case X86_REG_CL:
    case X86_REG_CH:
      return bit(1);
    case X86_REG_RDX:
    case X86_REG_EDX:
    case X86_REG_DX:
    case X86_REG_DL:
    case X86_REG_DH:
      return bit(2);
    case X86_REG_RBX:
    case X86_REG_EBX:
    case X86_REG_BX:
    case X86_REG_BL:
    case X86_REG_BH:
      return bit(3);
    case X86_REG_RBP:
    case X86_REG_EBP:
    case X86_REG_BP:
    case X86_REG_BPL:
      return bit(5);
    case X86_REG_RSI:
    case X86_REG_ESI:
    case X86_REG_SI:
    case X86_REG_SIL:
      return bit(6);
    case X86_REG_RDI:
    case X86_REG_EDI:
    case X86_REG_DI:
    case X86_REG_DIL:
      return bit(7);
    case X86_REG_EFLAGS:
      return bit(kFlagsBit);
    default:
      break;
  }
  const auto in = [&](unsigned first, unsigned count) { return reg >= first && reg < first + count; };
  if (in(X86_REG_R8, 8)) return bit(8 + reg - X86_REG_R8);
  if (in(X86_REG_R8D, 8)) return bit(8 + reg - X86_REG_R8D);
  if (in(X86_REG_R8W, 8)) return bit(8 + reg - X86_REG_R8W);
  if (in(X86_REG_R8B, 8)) return bit(8 + reg - X86_REG_R8B);
  if (in(X86_REG_XMM0, 16)) return bit(kVectorBit + reg - X86_REG_XMM0);
  if (in(X86_REG_YMM0, 16)) return bit(kVectorBit + reg - X86_REG_YMM0);
  if (in(X86_REG_ST0, 8)) return bit(kStackBit + reg - X86_REG_ST0);
  if (in(X86_REG_MM0, 8)) return bit(kStackBit + reg - X86_REG_MM0);
  return 0;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_string(std::string_view name) {
  return one_of(name, {"movsb", "movsw", "movsq", "stosb", "stosw", "stosd", "stosq", "lodsb", "lodsw",
                       "lodsd", "lodsq", "scasb", "scasw", "scasd", "scasq", "cmpsb", "cmpsw", "cmpsq"});
}

// Of a name without its v.
Work vector_work(std::string_view name) {
  const bool single = ends(name, "ss") || ends(name, "ps");
  if (begins(name, "div")) return single ? Work::kFloatDivideSingle : Work::kFloatDivideDouble;
  if (begins(name, "sqrt")) return single ? Work::kFloatRootSingle : Work::kFloatRootDouble;
  if (begins(name, "mul") || begins(name, "fm") || begins(name, "fnm") || begins(name, "dpp"))
    return Work::kFloatMultiply;
  return Work::kFloatAdd;
}

Work stack_work(std::string_view name) {
  if (begins(name, "fmul")) return Work::kFloatMultiply;
  if (begins(name, "fdiv") || begins(name, "fidiv") || begins(name, "fprem")) return Work::kFloatDivideDouble;
  if (begins(name, "fsqrt")) return Work::kFloatRootDouble;
  return Work::kFloatAdd;
}

Work integer_work(std::string_view name) {
  if (begins(name, "cmov")) return Work::kSelect;
  if (begins(name, "imul") || begins(name, "mul") || begins(name, "pmul") || begins(name, "pmadd"))
    return Work::kMultiply;
  if (one_of(name, {"div", "idiv"})) return Work::kDivide;
  if (one_of(name, {"bsf", "bsr", "tzcnt", "lzcnt", "popcnt", "pmovmskb", "movmskps", "movmskpd"}))
    return Work::kCount;
  if (one_of(name, {"nop", "endbr64", "pause", "vzeroupper", "zeroupper", "prefetcht0", "prefetcht1",
                    "prefetcht2", "prefetchnta", "prefetchw"}))
    return Work::kNothing;
  return Work::kInteger;
}

}  // namespace

struct Decoder::State {
  csh handle = 0;
  cs_insn* instruction = nullptr;
};

bool Decoder::available() { return true; }

Decoder::Decoder() : state_(std::make_unique<State>()) {
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &state_->handle) != CS_ERR_OK)
    throw std::runtime_error("capstone gives no decoder of x86-64");
  cs_option(state_->handle, CS_OPT_DETAIL, CS_OPT_ON);
  state_->instruction = cs_malloc(state_->handle);
}

Decoder::~Decoder() {
  cs_free(state_->instruction, 1);
  cs_close(&state_->handle);
}

Recipe Decoder::decode(const Code& code, bool& understood) {
  Recipe recipe;
  recipe.address = code.address;
  recipe.behind = code.address + code.size;
  const uint8_t* bytes = code.bytes.data();
  size_t left = code.size;
  uint64_t address = code.address;
  cs_insn* const instruction = state_->instruction;
  understood = code.known && cs_disasm_iter(state_->handle, &bytes, &left, &address, instruction);
  if (!understood) return recipe;
  std::string_view name = instruction->mnemonic;
  if (const size_t space = name.rfind(' '); space != std::string_view::npos) name.remove_prefix(space + 1);
  const cs_detail& detail = *instruction->detail;
  const cs_x86& x86 = detail.x86;
  const auto grouped = [&](unsigned group) {
    return std::find(detail.groups, detail.groups + detail.groups_count, group) !=
           detail.groups + detail.groups_count;
  };
  // Branches.
  const bool immediate = x86.op_count > 0 && x86.operands[0].type == X86_OP_IMM;
  if (grouped(X86_GRP_RET)) {
    recipe.branch = Branch::kReturn;
  } else if (grouped(X86_GRP_CALL)) {
    recipe.branch = immediate ? Branch::kCall : Branch::kIndirectCall;
  } else if (name == "jmp") {
    recipe.branch = immediate ? Branch::kJump : Branch::kIndirect;
  } else if (grouped(X86_GRP_JUMP)) {
    recipe.branch = Branch::kConditional;
  }
  // Registers.
  const bool access_known = std::any_of(x86.operands, x86.operands + x86.op_count,
                                        [](const cs_x86_op& each) { return each.access != 0; });
  bool vector = false;
  bool general = false;
  bool memory = false;
  for (unsigned i = 0; i < x86.op_count; ++i) {
    const cs_x86_op& operand = x86.operands[i];
    if (operand.type == X86_OP_MEM) {
      memory = true;
      recipe.pointers |= bit_of(operand.mem.base) | bit_of(operand.mem.index);
    } else if (operand.type == X86_OP_REG) {
      const uint64_t bit = bit_of(operand.reg);
      const bool in_stack = operand.reg >= X86_REG_ST0 && operand.reg < X86_REG_ST0 + 8;
      if (!in_stack) (bit >= uint64_t{1} << kVectorBit ? vector : general) = true;
      // Where capstone reports no operand's access, the first is written and, of two, read.
      const bool reads = access_known ? (operand.access & CS_AC_READ) != 0 : i > 0 || x86.op_count == 2;
      const bool writes = access_known ? (operand.access & CS_AC_WRITE) != 0 : i == 0;
      if (reads) recipe.reads |= bit;
      if (writes) recipe.writes |= bit;
    }
  }
  for (unsigned i = 0; i < detail.regs_read_count; ++i) recipe.reads |= bit_of(detail.regs_read[i]);
  for (unsigned i = 0; i < detail.regs_write_count; ++i) recipe.writes |= bit_of(detail.regs_write[i]);
  // Work.
  const bool stack = begins(name, "f") && !vector && !general && !begins(name, "fx");
  const std::string_view plain = begins(name, "v") && vector ? name.substr(1) : name;
  // "movsd" and "cmpsd" are also string instructions, which name no vector register.
  recipe.steps = !vector && (is_string(name) || one_of(name, {"movsd", "cmpsd"}));
  const bool floats = vector && (ends(plain, "ss") || ends(plain, "sd") || ends(plain, "ps") ||
                                 ends(plain, "pd") || begins(plain, "cvt"));
  const bool moves_value = begins(plain, "mov") && !begins(plain, "movmsk");
  recipe.moves = moves_value || begins(plain, "stos") || begins(plain, "lods") ||
                 one_of(plain, {"push", "pop", "leave", "lddqu", "broadcastss", "broadcastsd", "pbroadcastb",
                                "pbroadcastd", "pbroadcastq"}) ||
                 (stack && memory && one_of(plain, {"fld", "fst", "fstp", "fild"}));
  recipe.float_value = (floats && !general) || stack;
  if (vector && general &&
      (one_of(plain, {"movd", "movq"}) || begins(plain, "pextr") || begins(plain, "pinsr"))) {
    recipe.work = Work::kCount;
  } else if (stack) {
    recipe.work = stack_work(name);
  } else if (floats && !begins(plain, "movmsk")) {
    recipe.work = vector_work(plain);
  } else {
    recipe.work = integer_work(plain);
  }
  if (recipe.branch != Branch::kNone) recipe.work = Work::kInteger;
  // The same register twice, of which only zeros or ones can come out.
  if (one_of(plain, {"xor", "sub", "pxor", "xorps", "xorpd", "pcmpeqb", "pcmpeqw", "pcmpeqd", "pcmpeqq"}) &&
      x86.op_count >= 2) {
    const cs_x86_op& a = x86.operands[x86.op_count - 2];
    const cs_x86_op& b = x86.operands[x86.op_count - 1];
    if (a.type == X86_OP_REG && b.type == X86_OP_REG && a.reg == b.reg) {
      recipe.reads = 0;
      if (vector) recipe.work = Work::kInteger;
    }
  }
  // An address alone: it is computed with.
  if (name == "lea") recipe.reads |= recipe.pointers;
  return recipe;
}

#else

struct Decoder::State {};
bool Decoder::available() { return false; }
Decoder::Decoder() { throw std::runtime_error("built without capstone (libcapstone-dev)"); }
Decoder::~Decoder() = default;
Recipe Decoder::decode(const Code& code, bool& understood) {
  understood = false;
  Recipe recipe;
  recipe.address = code.address;
  recipe.behind = code.address + code.size;
  return recipe;
}

#endif

}  // namespace substrata::papers
