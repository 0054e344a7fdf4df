// Random VIR programs: pressure, loops, conditionals, conditional and half writes, TMU sequences, varyings,
// 32-bit multiplications. Every program ends, and everything that it computes is observed.
#pragma once

#include "v3d/vir.hpp"

#include <random>
#include <string>
#include <vector>

namespace lanewise::v3d {

struct RandomOptions {
  unsigned pressure = 40; ///< values alive at a time
  unsigned steps = 120;
  unsigned threads = 2;
};

class RandomVir {
 public:
  RandomVir(std::uint64_t seed, const RandomOptions& o) : random_(seed), o_(o) {}

  std::string text() {
    open_block();
    line("mov t{}, rf3", fresh()); // W, for the varyings
    const unsigned w = next_ - 1;
    for (unsigned n = 0; n < o_.pressure; ++n) {
      pool_.push_back(start(w, n));
    }
    body(o_.steps, 0);
    // Everything is summed up, so that nothing is dead.
    unsigned sum = pool_[0];
    for (std::size_t n = 1; n < pool_.size(); ++n) {
      const unsigned s = fresh();
      line("xor t{}, t{}, t{}", s, sum, pool_[n]);
      sum = s;
    }
    line("nop null; thrsw");
    line("vfpack tlb, t{}, t{}", sum, pool_[pick(pool_.size())]);
    line("mov tlb, t{}", sum);
    return text_;
  }

 private:
  unsigned pick(std::size_t n) { return static_cast<unsigned>(random_() % n); }
  unsigned any() { return pool_[pick(pool_.size())]; }
  unsigned fresh() { return next_++; }

  template <class... A>
  void line(std::string_view format, A... args) {
    const std::array<unsigned, sizeof...(A)> values{static_cast<unsigned>(args)...};
    std::size_t k = 0;
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format.substr(at, 2) == "{}") {
        text_ += std::to_string(values[k++]);
        ++at;
      } else {
        text_ += format[at];
      }
    }
    text_ += '\n';
  }

  unsigned open_block() {
    line("BLOCK {}:", blocks_);
    return blocks_++;
  }

  unsigned start(unsigned w, unsigned n) {
    const unsigned t = fresh();
    switch (pick(4)) {
    case 0: line("nop t{}; ldunif (push[{}])", t, pick(64)); return t;
    case 1: {
      const unsigned p = fresh(), q = fresh();
      line("nop t{}; ldvary.rf0", t);
      line("fmul t{}, t{}, t{}", p, t, w);
      line("fadd t{}, t{}, rf0", q, p);
      return q;
    }
    case 2: line("fxcd t{}", t); return t;
    default: line("mov t{}, {}", t, n % 16); return t;
    }
  }

  void replace(unsigned t) { pool_[pick(pool_.size())] = t; }

  void body(unsigned steps, unsigned depth) {
    for (unsigned n = 0; n < steps; ++n) {
      const unsigned kind = pick(40);
      if (kind == 0 && depth < 2 && steps > 8) {
        loop(steps / 4, depth);
      } else if (kind == 1 && depth < 3 && steps > 8) {
        condition(steps / 4, depth);
      } else if (kind < 4) {
        texture();
      } else if (kind == 4) {
        pick(2) != 0 ? overlapping_textures() : store();
      } else if (kind < 8) {
        flags();
      } else if (kind == 8) {
        half();
      } else if (kind == 9) {
        multiply();
      } else if (kind == 10) {
        const unsigned t = fresh();
        line("nop t{}; ldunif (push[{}])", t, pick(64));
        replace(t);
      } else if (kind == 11) {
        const unsigned t = fresh();
        line("mov t{}, t{}", t, any());
        replace(t);
      } else if (kind < 14) {
        line("add t{}, t{}, t{}", any(), any(), any()); // several definitions
      } else {
        arithmetic();
      }
    }
  }

  void arithmetic() {
    static constexpr const char* ops[] = {"fadd", "fmul", "add", "sub", "xor", "and", "fmax", "umin"};
    const unsigned t = fresh();
    const unsigned a = any();
    unsigned b = any();
    while (b == a && pool_.size() > 1) {
      b = pool_[pick(pool_.size())];
    }
    if (pick(8) == 0) {
      line(pick(2) != 0 ? "recip t{}, t{}" : "rsqrt t{}, t{}", t, a);
    } else {
      line(std::string(ops[pick(8)]) + " t{}, t{}, t{}", t, a, b);
    }
    replace(t);
  }

  void texture() {
    const unsigned words = 1 + pick(3);
    static constexpr unsigned masks[] = {0, 1, 3, 7};
    line("mov tmut, t{}", any());
    line("nop null; wrtmuc (tex[{}].p0 | 0x{})", pick(16), masks[words]);
    line("mov tmus, t{}", any());
    line("nop null; thrsw");
    for (unsigned n = 0; n < words; ++n) {
      const unsigned t = fresh();
      line("nop t{}; ldtmu.rf0", t);
      replace(t);
    }
  }

  // Two sequences are on their way at once; between them and their results stands other work.
  void overlapping_textures() {
    for (unsigned n = 0; n < 2; ++n) {
      line("mov tmut, t{}", any());
      line("nop null; wrtmuc (tex[{}].p0 | 0x3)", pick(16));
      line("mov tmus, t{}", any());
    }
    arithmetic();
    line("nop null; thrsw");
    for (unsigned n = 0; n < 4; ++n) {
      const unsigned t = fresh();
      line("nop t{}; ldtmu.rf0", t);
      replace(t);
    }
  }

  void store() {
    line("mov tmud, t{}", any());
    line("add tmua, t{}, t{}", any(), any());
    line("nop null; thrsw");
    line("tmuwt null");
  }

  void flags() {
    line("fcmp.pushn null, t{}, t{}", any(), any());
    for (unsigned n = pick(3) + 1; n > 0; --n) {
      if (pick(3) == 0) {
        const unsigned t = fresh(); // a first write under a condition, completed by its opposite
        line("mov.ifa t{}, t{}", t, any());
        line("mov.ifna t{}, t{}", t, any());
        replace(t);
      } else {
        line(pick(2) != 0 ? "mov.ifa t{}, t{}" : "fadd.ifna t{}, t{}, 1.000000", any(), any());
      }
    }
  }

  void half() {
    const unsigned t = fresh();
    const unsigned a = any(), b = any();
    line("fadd t{}.l, t{}, t{}", t, a, b);
    line("fmul t{}.h, t{}, t{}", t, a, b);
    replace(t);
  }

  void multiply() {
    const unsigned t = fresh(), a = any(), b = any();
    line("multop null, t{}, t{}", a, b);
    line("umul24 t{}, t{}, t{}", t, a, b);
    replace(t);
  }

  void condition(unsigned steps, unsigned depth) {
    line("mov.pushz null, t{}", any());
    line("bu.anya  262, r:unif (0x00000000 / 0.000000)");
    const unsigned then = blocks_++, join = blocks_++;
    line("-> BLOCK {}, {}", join, then);
    line("BLOCK {}:", then);
    // Values made inside do not leave: only redefinitions of what was there do.
    const auto saved = pool_;
    body(steps, depth + 1);
    line("mov t{}, t{}", saved[pick(saved.size())], any());
    pool_ = saved;
    line("-> BLOCK {}", join);
    line("BLOCK {}:", join);
  }

  void loop(unsigned steps, unsigned depth) {
    const unsigned i = fresh();
    line("mov t{}, 0", i);
    const unsigned header = blocks_++, inside = blocks_++, exit = blocks_++;
    line("-> BLOCK {}", header);
    line("BLOCK {}:", header);
    line("min.pushc null, {}, t{}", 1 + pick(3), i);
    line("bu.allna  262, r:unif (0x00000000 / 0.000000)");
    line("-> BLOCK {}, {}", exit, inside);
    line("BLOCK {}:", inside);
    const auto saved = pool_;
    body(steps, depth + 1);
    line("mov t{}, t{}", saved[pick(saved.size())], any());
    pool_ = saved;
    line("add t{}, t{}, 1", i, i);
    line("bu  262, r:unif (0x00000000 / 0.000000)");
    line("-> BLOCK {}", header);
    line("BLOCK {}:", exit);
  }

  std::mt19937_64 random_;
  RandomOptions o_;
  std::vector<unsigned> pool_;
  unsigned next_ = 0, blocks_ = 0;
  std::string text_;
};

} // namespace lanewise::v3d
