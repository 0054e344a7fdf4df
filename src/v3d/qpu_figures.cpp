// What words cost, and their text.
#include "v3d/qpu.hpp"

#include <fmt/format.h>

namespace lanewise::v3d {

bool reads_late_result(const Word& before, const Word& w) {
  if (before.is_branch || w.is_branch || !has(before.add.op, sfu) || before.add.dst.kind != Reg::rf) {
    return false;
  }
  for (const Alu* a : {&w.add, &w.mul}) {
    for (unsigned s = 0; s < source_count(*a); ++s) {
      if (a->src[s].reg == before.add.dst) {
        return true;
      }
    }
  }
  return false;
}

Figures measure(const QpuProgram& q) {
  Figures f;
  f.instructions = static_cast<unsigned>(q.words.size());
  f.threads = q.threads;
  f.uniforms = static_cast<unsigned>(q.stream.size());
  for (std::size_t n = 0; n < q.words.size(); ++n) {
    const Word& w = q.words[n].word;
    if (w.is_branch) {
      f.loops += w.branch.offset < 0;
      continue;
    }
    f.nops += is_nop(w.add) && is_nop(w.mul) && w.sigs == 0;
    if (n == 0 || q.words[n - 1].word.is_branch) {
      continue;
    }
    f.sfu_stalls += reads_late_result(q.words[n - 1].word, w);
  }
  f.inst_and_stalls = f.instructions + f.sfu_stalls;
  return f;
}

std::string to_text(const QpuProgram& q) {
  std::string s;
  std::size_t at = 0;
  for (std::size_t n = 0; n < q.words.size(); ++n) {
    s += fmt::format("{:#018x} {}", q.bits[n], to_text(q.gpu, q.words[n].word));
    if (q.words[n].uniform != no_index && at < q.stream.size()) {
      const StreamEntry& e = q.stream[at++];
      s += q.words[n].word.is_branch ? fmt::format(" ({})", e.distance)
                                     : fmt::format(" ({})", q.uniforms[e.uniform].text);
    }
    s += '\n';
  }
  return s;
}

} // namespace lanewise::v3d
