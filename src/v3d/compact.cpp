#include "v3d/compact.hpp"

#include "v3d/liveness.hpp"
#include "v3d/spill.hpp"
#include "v3d/tmu_operations.hpp"

#include <bit>

namespace lanewise::v3d {

namespace {

constexpr std::size_t nowhere = ~std::size_t{0};

struct Operation {
  std::vector<std::size_t> parameters, results;
  std::size_t trigger = 0;
};

// The operations of a block, with their results; empty if the block is not simple enough.
std::vector<Operation> find_operations(const Program& p, const std::vector<Inst>& insts) {
  std::vector<Operation> list;
  Operation now;
  unsigned returned = 0;
  std::vector<unsigned> words;
  std::size_t next = 0;
  for (std::size_t n = 0; n < insts.size(); ++n) {
    const Inst& i = insts[n];
    if ((i.sigs & sig::wrtmuc) != 0 && returned == 0) {
      returned = static_cast<unsigned>(std::popcount(p.uniforms[i.uniform].returned));
    }
    if (starts_lookup(i)) {
      const auto address = static_cast<std::uint8_t>(i.alu.dst.index);
      if (address == magic::tmua || address == magic::tmuau) {
        return {};
      }
      now.trigger = n;
      list.push_back(std::move(now));
      words.push_back(returned);
      now = {};
      returned = 0;
    } else if (writes_tmu(i) || (i.sigs & sig::wrtmuc) != 0) {
      now.parameters.push_back(n);
    }
    if ((i.sigs & sig::ldtmu) != 0) {
      while (next < list.size() && list[next].results.size() == words[next]) {
        ++next;
      }
      if (next == list.size()) {
        return {};
      }
      list[next].results.push_back(n);
    }
  }
  return list;
}

// A temporary with one definition in the program may be read later and written earlier than it stands.
class Compactor {
 public:
  explicit Compactor(Program& p) : p_(p), definitions_(p.temp_count) {
    for (const Block& b : p.blocks) {
      for (const Inst& i : b.insts) {
        for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
          if (d->kind == Reg::temp) {
            ++definitions_[d->index];
          }
        }
      }
    }
    last_ = last_switch(p);
  }

  void run() {
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      block(b);
    }
  }

 private:
  bool is_free(const Inst& i) const {
    bool ok = i.alu.cond == Cond::none && !writes_flags(i.alu);
    for (unsigned s = 0; s < source_count(i.alu); ++s) {
      const Reg& r = i.alu.src[s].reg;
      ok = ok && (r.kind != Reg::temp || definitions_[r.index] == 1) && r.kind != Reg::rf &&
           r.kind != Reg::acc;
    }
    return ok && (i.sig_dst.kind != Reg::temp || definitions_[i.sig_dst.index] == 1);
  }

  void block(std::uint32_t b) {
    auto& insts = p_.blocks[b].insts;
    const auto operations = find_operations(p_, insts);
    if (operations.empty()) {
      return;
    }
    // rtop that is live behind an instruction forbids a thread switch there.
    std::vector<char> bound(insts.size() + 1);
    bool rtop = false;
    for (std::size_t n = insts.size(); n-- > 0;) {
      bound[n + 1] = static_cast<char>(rtop);
      const Inst& i = insts[n];
      rtop = (rtop && !has(i.alu.op, writes_rtop)) || has(i.alu.op, reads_rtop);
    }
    std::vector<std::size_t> moves_to(insts.size(), nowhere); // parameter or result -> trigger
    std::vector<char> together(insts.size());
    for (const Operation& o : operations) {
      bool ok = is_free(insts[o.trigger]);
      for (const std::size_t n : o.parameters) {
        ok = ok && is_free(insts[n]);
      }
      for (const std::size_t n : o.results) {
        ok = ok && is_free(insts[n]);
      }
      if (!ok) {
        return; // all or nothing: results keep their order only if all move
      }
    }
    for (const Operation& o : operations) {
      together[o.trigger] = 1;
      for (const std::size_t n : o.parameters) {
        moves_to[n] = o.trigger;
      }
      for (const std::size_t n : o.results) {
        moves_to[n] = o.trigger;
      }
    }
    std::vector<Inst> out;
    std::size_t at = 0;
    for (std::size_t n = 0; n < insts.size(); ++n) {
      const Inst& i = insts[n];
      if (moves_to[n] != nowhere) {
        continue;
      }
      if ((i.sigs & sig::thrsw) != 0 && !(last_.block == b && last_.index == n)) {
        continue; // each operation gets its own
      }
      if (together[n] == 0) {
        out.push_back(i);
        continue;
      }
      const Operation& o = operations[at++];
      for (const std::size_t k : o.parameters) {
        out.push_back(insts[k]);
      }
      out.push_back(i);
      const bool behind_last = last_.block == b && n > last_.index;
      if (bound[n + 1] == 0 && !behind_last && !o.results.empty()) {
        Inst& s = out.emplace_back();
        s.alu.dst = {Reg::null};
        s.sigs = sig::thrsw;
        s.role = Role::copy; // not of the program: never the last thread switch
      }
      for (const std::size_t k : o.results) {
        out.push_back(insts[k]);
      }
    }
    insts = std::move(out);
  }

  Program& p_;
  std::vector<unsigned> definitions_;
  Place last_;
};

} // namespace

void compact_tmu(Program& p) { Compactor(p).run(); }

} // namespace lanewise::v3d
