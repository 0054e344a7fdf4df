#include "v3d/simulate.hpp"

namespace lanewise::v3d {

namespace {

class Simulator {
 public:
  Simulator(const QpuProgram& q, const RunOptions& options) : q_(q), m_(q.gpu, q.uniforms, options, 0) {}

  Expected<Trace> run() {
    std::vector<Word> words;
    words.reserve(q_.bits.size());
    for (const std::uint64_t b : q_.bits) {
      auto w = unpack(q_.gpu, b);
      if (!w) {
        return std::unexpected(w.error());
      }
      words.push_back(*w);
    }
    while (pc_ < words.size()) {
      const Word& w = words[pc_];
      ++m_.trace.steps;
      if (w.is_branch) {
        if (!branch(w)) {
          return std::move(m_.trace); // the budget of branches is spent
        }
      } else if (auto r = alu(w); !r) {
        return std::unexpected(r.error());
      }
      advance();
    }
    if (slots_left_ >= 0) {
      m_.trace.faults.emplace_back("the program ends inside a branch");
    }
    m_.end();
    return std::move(m_.trace);
  }

 private:
  std::uint32_t next_uniform(std::uint32_t& index) {
    if (stream_ >= q_.stream.size()) {
      m_.trace.faults.emplace_back("the uniform stream is exhausted");
      index = no_index;
      return 0;
    }
    index = q_.stream[stream_++].uniform;
    return m_.uniform_value(index);
  }

  static bool writes_with_uniform(const Alu& a) {
    return a.dst.kind == Reg::magic && takes_uniform(static_cast<std::uint8_t>(a.dst.index));
  }

  Expected<void> alu(const Word& w) {
    constexpr std::uint32_t supported =
        sig::thrsw | sig::ldunif | sig::ldunifrf | sig::ldtmu | sig::ldvary | sig::wrtmuc;
    if ((w.sigs & ~supported) != 0) {
      return fail(ErrorKind::unsupported, "the simulator does not run this signal", to_text(q_.gpu, w));
    }
    const bool takes = (w.sigs & (sig::ldunif | sig::ldunifrf | sig::wrtmuc)) != 0 ||
                       writes_with_uniform(w.add) || writes_with_uniform(w.mul);
    std::uint32_t index = no_index;
    const std::uint32_t value = takes ? next_uniform(index) : 0;
    const auto add = m_.compute(w.add, value);
    const auto mul = m_.compute(w.mul, value);
    // The coefficient of the ldvary a word ago arrives.
    if (coefficient_) {
      m_.write(implicit_reg(q_.gpu), *coefficient_);
      coefficient_.reset();
    }
    Lanes l;
    l.v.fill(value);
    if ((w.sigs & sig::ldunif) != 0) {
      m_.write(implicit_reg(q_.gpu), l);
    }
    if ((w.sigs & sig::ldunifrf) != 0) {
      m_.write(w.sig_dst, l);
    }
    if ((w.sigs & sig::ldvary) != 0) {
      Lanes c;
      m_.write(w.sig_dst, m_.next_varying(c));
      coefficient_ = c;
    }
    if ((w.sigs & sig::ldtmu) != 0) {
      m_.write(w.sig_dst, m_.pop_tmu());
    }
    if ((w.sigs & sig::wrtmuc) != 0 && index != no_index) {
      m_.configure_tmu(index);
    }
    m_.apply(add);
    m_.apply(mul);
    if ((w.sigs & sig::thrsw) != 0 && switch_in_ < 0) {
      switch_in_ = 3;
    }
    return {};
  }

  bool branch(const Word& w) {
    if (slots_left_ >= 0) {
      m_.trace.faults.emplace_back("branch in the slots of another");
    }
    const std::int32_t distance = stream_ < q_.stream.size() ? q_.stream[stream_].distance : 0;
    if (w.branch.moves_uniforms) {
      ++stream_;
    }
    const auto taken = m_.branch(w.branch);
    if (!taken) {
      return false;
    }
    if (*taken) {
      target_ = static_cast<std::int64_t>(pc_) + 4 + w.branch.offset / 8;
      stream_target_ = static_cast<std::int64_t>(stream_) + distance / 4;
      slots_left_ = 3;
      fresh_ = true;
    }
    return true;
  }

  void advance() {
    if (switch_in_ > 0 && --switch_in_ == 0) {
      m_.thread_switch();
      switch_in_ = -1;
    }
    ++pc_;
    if (slots_left_ < 0) {
      return;
    }
    if (fresh_) {
      fresh_ = false; // the branch itself
      return;
    }
    if (--slots_left_ == 0) {
      slots_left_ = -1;
      pc_ = target_ < 0 || target_ > static_cast<std::int64_t>(q_.bits.size())
                ? q_.bits.size()
                : static_cast<std::size_t>(target_);
      stream_ = stream_target_ < 0 ? q_.stream.size() : static_cast<std::size_t>(stream_target_);
    }
  }

  const QpuProgram& q_;
  Machine m_;
  std::size_t pc_ = 0, stream_ = 0;
  std::int64_t target_ = 0, stream_target_ = 0;
  int slots_left_ = -1, switch_in_ = -1;
  bool fresh_ = false;
  std::optional<Lanes> coefficient_;
};

} // namespace

Expected<Trace> simulate(const QpuProgram& q, const RunOptions& options) {
  return Simulator(q, options).run();
}

} // namespace lanewise::v3d
