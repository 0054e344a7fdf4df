// A word that grows: instructions are merged into it as long as the hardware has room for them.
#pragma once

#include "v3d/qpu.hpp"

namespace lanewise::v3d {

class WordBuilder {
 public:
  explicit WordBuilder(Gpu gpu) : gpu_(gpu) {}

  /// Adds the instruction if the word can hold it; else leaves the word as it was.
  [[nodiscard]] bool add(const Inst& i);
  [[nodiscard]] bool add_signal(std::uint32_t s);
  [[nodiscard]] const QpuWord& word() const { return w_; }
  [[nodiscard]] bool empty() const { return empty_; }

 private:
  [[nodiscard]] bool place(Word& w, const Alu& a) const;
  [[nodiscard]] bool is_legal(Word& w) const;

  Gpu gpu_;
  QpuWord w_;
  bool empty_ = true;
};

} // namespace lanewise::v3d
