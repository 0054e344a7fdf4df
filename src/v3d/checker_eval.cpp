#include "v3d/checker_eval.hpp"

#include "v3d/machine.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::v3d::checking {

namespace {

// Kinds of operators, above those of the expression table.
enum Kind : std::uint64_t {
  k_alu = 1,
  k_uniform,
  k_imm,
  k_varying,
  k_coefficient,
  k_push,
  k_update,
  k_request,
  k_result,
  k_memory,
  k_effect,
  k_lane,
  k_unpack
};

constexpr std::uint32_t spill_config_pixel = 0xffffffffu;

// Words of an access by the type in its configuration.
std::uint32_t width_of(std::uint32_t config) {
  const std::uint32_t type = config & 7;
  return type >= 2 && type <= 4 ? type : 1;
}

bool is_lane_local(const Alu& a) { return !has(a.op, cross_lane) && !writes_flags(a); }

// What any thread may compute again anywhere with the same result.
bool is_pure(Op op) {
  constexpr std::uint16_t bound = vpm_load | vpm_store | reads_flags | reads_rtop | writes_rtop |
                                  touches_msf | tmu_wait | vpm_wait | tsy | cross_lane;
  return (info(op).properties & bound) == 0 && (info(op).sources != 0 || is_thread_constant(op));
}

} // namespace

Node Evaluator::operation(std::uint64_t kind, std::uint64_t detail, std::vector<Node> operands, bool pure) {
  return x_.make(kind << 48 | detail | 1ull << 40, std::move(operands), pure);
}

Node Evaluator::uniform(std::uint32_t u) {
  // By text, since the two sides number their uniforms apart.
  std::uint64_t h = 0xcbf29ce484222325ull;
  const Uniform& entry = (*side_.uniforms)[u];
  if (entry.is_literal) {
    return operation(k_uniform, 0, {x_.make(1ull << 62 | entry.value, {}, true)}, true);
  }
  for (const char c : entry.text) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return operation(k_uniform, 1, {x_.make(1ull << 61 | (h >> 4), {}, true)}, true);
}

Node Evaluator::spill_base() {
  const auto alu = [&](Op op, std::vector<Node> in) {
    return operation(k_alu, static_cast<std::uint64_t>(op), std::move(in), is_pure(op));
  };
  const auto symbol = [&](std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : text) {
      h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    }
    return operation(k_uniform, 1, {x_.make(1ull << 61 | (h >> 4), {}, true)}, true);
  };
  const Node thread = alu(Op::tidx, {}), lane = alu(Op::eidx, {}), size = symbol(spill_size_uniform);
  const Node rtop = alu(Op::multop, {thread, size});
  const Node product = alu(Op::umul24, {thread, size, rtop});
  const Node bytes = alu(Op::shl, {lane, operation(k_imm, rows_ ? 4 : 2, {}, true)});
  return alu(Op::add, {alu(Op::add, {product, bytes}), symbol(spill_offset_uniform)});
}

Node Evaluator::read(const Reg& r) {
  switch (r.kind) {
  case Reg::temp: return s_.temps[r.index];
  case Reg::rf: return s_.rf[r.index];
  case Reg::acc: return s_.acc[r.index];
  case Reg::imm: return operation(k_imm, r.index, {}, true);
  default: return Expressions::undefined;
  }
}

void Evaluator::assign(const Reg& r, Node n) {
  switch (r.kind) {
  case Reg::temp: s_.temps[r.index] = n; break;
  case Reg::rf: s_.rf[r.index] = n; break;
  case Reg::acc: s_.acc[r.index] = n; break;
  default: break;
  }
}

Evaluator::Write Evaluator::compute(const Alu& a, Node uniform_node) {
  Write w;
  if (a.op == Op::nop) {
    return w;
  }
  w.alu = &a;
  w.uniform = uniform_node;
  if (a.cond != Cond::none) {
    w.is_conditional = true;
    w.flags = a.cond == Cond::ifa || a.cond == Cond::ifna ? s_.flags_a : s_.flags_b;
    w.when_set = a.cond == Cond::ifa || a.cond == Cond::ifb;
  }
  std::vector<Node> in;
  for (unsigned n = 0; n < source_count(a); ++n) {
    Node v = read(a.src[n].reg);
    if (w.is_conditional && is_lane_local(a)) {
      v = x_.under(v, w.flags, w.when_set);
    }
    const Unpack m = a.src[n].unpack;
    const bool low = m == Unpack::l || m == Unpack::ul || m == Unpack::il || m == Unpack::ll;
    const bool high = m == Unpack::h || m == Unpack::uh || m == Unpack::ih || m == Unpack::hh;
    if (low || high) {
      v = x_.half(v, high);
    }
    if (m != Unpack::none) {
      v = operation(k_unpack, static_cast<std::uint64_t>(m), {v}, true);
    }
    in.push_back(v);
  }
  // The order of the operands of these decides nothing (the encoder may exchange them).
  const bool commutes = a.op == Op::fadd || a.op == Op::faddnf || a.op == Op::fmin || a.op == Op::fmax;
  const Op op = a.op == Op::faddnf ? Op::fadd : a.op;
  const std::uint64_t detail = static_cast<std::uint64_t>(op);
  if (a.op == Op::mov && a.src[0].unpack == Unpack::none) {
    w.value = in[0];
  } else {
    if (commutes) {
      std::ranges::sort(in);
    }
    if (has(a.op, reads_rtop)) {
      in.push_back(s_.rtop);
    }
    if (has(a.op, reads_flags)) {
      in.push_back(s_.flags_a);
      in.push_back(s_.flags_b);
    }
    if (has(a.op, vpm_load)) {
      in.push_back(x_.make(1ull << 60 | static_cast<std::uint64_t>(block_) << 24 | stores_, {}));
    }
    w.value = operation(k_alu, detail | (commutes ? Expressions::commutes : 0), std::move(in), is_pure(a.op));
  }
  if (a.pack != Pack::none) {
    w.value = operation(k_alu, 900 + static_cast<std::uint64_t>(Op::vfpack), {w.value}, true);
  }
  if (has(a.op, vpm_store)) {
    // Stores to one place keep their order; where the place is not known, all do.
    const Node place = read(a.src[0].reg);
    const std::size_t turn = x_.is_constant(place) ? stored_at_[place]++ : stores_;
    ++stores_;
    out_.vpm.push_back(operation(k_effect, 600 + turn, {w.value}));
  }
  return w;
}

void Evaluator::apply_flags(const Write& w) {
  const Alu& a = *w.alu;
  if (a.push != Push::none) {
    s_.flags_b = s_.flags_a;
    s_.flags_a = operation(k_push, static_cast<std::uint64_t>(a.push), {w.value});
  } else if (a.update != Update::none) {
    s_.flags_a = operation(k_update, static_cast<std::uint64_t>(a.update), {w.value, s_.flags_a});
  }
}

void Evaluator::apply(const Write& w) {
  if (w.alu == nullptr) {
    return;
  }
  const Alu& a = *w.alu;
  const auto when = [&](Node value, Node old) {
    if (!w.is_conditional) {
      return value;
    }
    return w.when_set ? x_.choose(w.flags, value, old) : x_.choose(w.flags, old, value);
  };
  if (a.op == Op::multop) {
    s_.rtop = w.value;
  }
  if (a.op == Op::setmsf) {
    out_.tlb.push_back(operation(k_effect, magic::rep, {when(w.value, Expressions::undefined)}));
  }
  if (a.dst.kind == Reg::magic) {
    const auto address = static_cast<std::uint8_t>(a.dst.index);
    if (is_tmu_write(address)) {
      tmu_write(w, address);
    } else {
      out_.tlb.push_back(operation(k_effect, address, {when(w.value, Expressions::undefined), w.uniform}));
    }
  } else if (a.dst.kind == Reg::temp || a.dst.kind == Reg::rf || a.dst.kind == Reg::acc) {
    const Node old = read(a.dst);
    Node value = w.value;
    if (a.pack == Pack::l) {
      value = x_.halves(value, x_.half(old, true));
    } else if (a.pack == Pack::h) {
      value = x_.halves(x_.half(old, false), value);
    }
    assign(a.dst, when(value, old));
  }
  apply_flags(w);
}

void Evaluator::tmu_write(const Write& w, std::uint8_t address) {
  if (address == magic::tmua || address == magic::tmuau) {
    general(w, w.flags);
    return;
  }
  if (address == magic::tmud) {
    data_.emplace_back(w.value, w);
    return;
  }
  Node value = operation(k_lane, address, {w.value});
  if (w.is_conditional) {
    value = operation(k_lane, 200 + w.when_set, {value, w.flags});
  }
  parameters_.emplace_back(address, value);
  if (!is_tmu_trigger(address)) {
    return;
  }
  // The coordinates come in any order before the trigger.
  std::ranges::stable_sort(parameters_, {}, [](const auto& q) { return q.first; });
  std::vector<Node> all = configs_;
  for (const auto& [where, n] : parameters_) {
    all.push_back(n);
  }
  // Equal lookups give equal results, unless the program may have written in between.
  const Node request = operation(k_request, out_.tmu_stores.size(), all);
  out_.lookups.push_back(request);
  for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(std::popcount(returned_)); ++k) {
    fifo_.push_back(operation(k_result, k, {request}));
  }
  parameters_.clear();
  configs_.clear();
  returned_ = 0;
}

void Evaluator::general(const Write& w, Node) {
  // A spill or a fill is known by its address: base + slot.
  const bool has_config = w.alu->dst.index == magic::tmuau;
  std::uint32_t slot = no_index;
  if (!s_.slots.empty()) {
    const Node base = spill_base();
    for (const auto& [offset, value] : s_.slots) {
      const Node o = operation(k_uniform, 0, {x_.make(1ull << 62 | offset, {}, true)}, true);
      if (w.value == operation(k_alu, static_cast<std::uint64_t>(Op::add), {base, o}, true)) {
        slot = offset;
      }
    }
  }
  if (slot != no_index) {
    spill_access(w, slot);
    return;
  }
  std::vector<Node> all{w.value, w.uniform};
  if (w.is_conditional) {
    all.push_back(w.flags);
  }
  for (const auto& [value, data] : data_) {
    all.push_back(value);
  }
  const bool reads = data_.empty();
  const Node request = operation(k_request, out_.tmu_stores.size() + (1u << 20), std::move(all));
  (reads ? out_.lookups : out_.tmu_stores).push_back(request);
  // Operation and type of the configuration; without one a 32-bit regular access.
  std::uint32_t value = ~0u;
  if (has_config) {
    value = config_value_;
  }
  const std::uint32_t words = data_.empty() ? width_of(value) : (value >> 3 & 15) == 15 ? 0 : 1;
  for (std::uint32_t k = 0; k < words; ++k) {
    fifo_.push_back(operation(k_result, k, {request}));
  }
  data_.clear();
}

// Words of a vector stand in neighbouring slots of a row.
void Evaluator::spill_access(const Write& w, std::uint32_t slot) {
  const std::uint32_t config = w.alu->dst.index == magic::tmuau ? config_value_ : ~0u,
                      width = width_of(config);
  const bool is_load = data_.empty();
  if ((config | 0x87u) != ~0u || ((config & 7) == 7) == (width != 1) || (width > 1 && !rows_)) {
    out_.fault = "a spill or fill of another type than its slot";
  }
  if (!is_load && data_.size() != width) {
    out_.fault = "a spill stores another number of words than its type has";
  }
  for (std::uint32_t k = 0; k < width; ++k) {
    const auto place = s_.slots.find(slot + 4 * k);
    if (place == s_.slots.end() || (width > 1 && slot % 16 + 4 * k >= 16)) {
      out_.fault = "a spill or fill reaches beyond its row";
      break;
    }
    if (is_load) {
      fifo_.push_back(place->second);
      continue;
    }
    if (k >= data_.size()) {
      break;
    }
    const auto& [value, data] = data_[k];
    Node stored = value;
    if (w.is_conditional != data.is_conditional ||
        (w.is_conditional && (w.flags != data.flags || w.when_set != data.when_set))) {
      out_.fault = "a spill stores lanes under another condition than its data";
    }
    if (w.is_conditional) {
      const Node old = place->second;
      stored = w.when_set ? x_.choose(w.flags, value, old) : x_.choose(w.flags, old, value);
      if (config != spill_config_pixel) {
        out_.fault = "a masked spill must be per pixel";
      }
    }
    place->second = stored;
  }
  data_.clear();
}

void Evaluator::lose() {
  // Undefined stands for nothing but the undefined: where the listing reads what was lost, anything will do.
  s_.acc.fill(Expressions::undefined);
  // Flags stay (from 4.2 on).
  s_.rtop = Expressions::undefined;
  if (!parameters_.empty() || !configs_.empty() || !data_.empty()) {
    out_.fault = "a thread switch stands inside a TMU sequence";
  }
}

void Evaluator::step(const Step& s) {
  Node u = Expressions::undefined;
  config_value_ = ~0u;
  if (s.uniform != no_index && !s.is_branch) {
    u = uniform(s.uniform);
    config_value_ = (*side_.uniforms)[s.uniform].value;
  }
  if (s.is_branch) {
    out_.branches.push_back(operation(
        k_effect,
        500 + static_cast<std::uint64_t>(s.branch.cond) * 4 + static_cast<std::uint64_t>(s.branch.msfign),
        {s.branch.cond == BranchCond::always ? Expressions::undefined : s_.flags_a}));
    return;
  }
  const std::array<Write, 2> writes{compute(s.alu[0], u), compute(s.alu[1], u)};
  const Reg c = implicit_reg(gpu_);
  if (has_coefficient_) {
    assign(c, coefficient_);
    has_coefficient_ = false;
  }
  if ((s.sigs & (sig::ldunif | sig::ldunifrf)) != 0) {
    assign(side_.delayed && (s.sigs & sig::ldunif) != 0 ? c : s.sig_dst, u);
  }
  if ((s.sigs & sig::ldvary) != 0) {
    const std::uint64_t which = static_cast<std::uint64_t>(block_) << 16 | varyings_++;
    assign(s.sig_dst, operation(k_varying, which, {}));
    coefficient_ = operation(k_coefficient, which, {});
    has_coefficient_ = side_.delayed;
    if (!side_.delayed) {
      assign(c, coefficient_);
    }
  }
  if ((s.sigs & sig::ldtmu) != 0) {
    if (fifo_.empty()) {
      out_.fault = "ldtmu without a result to come";
      assign(s.sig_dst, x_.fresh());
    } else {
      assign(s.sig_dst, fifo_.front());
      fifo_.pop_front();
    }
  }
  if ((s.sigs & sig::wrtmuc) != 0) {
    if (configs_.empty()) {
      returned_ = (*side_.uniforms)[s.uniform].returned;
    }
    configs_.push_back(u);
  }
  for (const Write& w : writes) {
    apply(w);
  }
  if ((s.sigs & sig::thrsw) != 0) {
    if (!side_.delayed) {
      lose();
    } else if (switch_in_ < 0) {
      switch_in_ = 3;
    }
  }
}

Outcome Evaluator::run(std::uint32_t b, State entry) {
  s_ = std::move(entry);
  out_ = {};
  block_ = b;
  varyings_ = stores_ = 0;
  stored_at_.clear();
  parameters_.clear();
  configs_.clear();
  data_.clear();
  fifo_.clear();
  switch_in_ = -1;
  has_coefficient_ = false;
  for (const Step& s : side_.blocks[b]) {
    step(s);
    if (switch_in_ > 0 && --switch_in_ == 0) {
      lose();
      switch_in_ = -1;
    }
  }
  if (has_coefficient_) {
    assign(implicit_reg(gpu_), coefficient_);
  }
  if (!fifo_.empty()) {
    out_.fault = "TMU results are left at the end of a block";
  }
  out_.state = std::move(s_);
  return std::move(out_);
}

} // namespace lanewise::v3d::checking
