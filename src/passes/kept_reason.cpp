#include "passes/kept_reason.hpp"

namespace lanewise::passes {
namespace {

struct Text {
  std::string_view name, sentence;
};

constexpr std::array<Text, kKeptReasons.size()> kTexts{{
    {"join", "the value goes on to another block, where lanes outside the mask are read"},
    {"access", "the access is made in lanes outside the mask"},
    {"lanes", "other lanes read it"},
    {"wave", "the whole wave reads it"},
    {"branch", "the branch depends on all lanes"},
    {"result", "its result is read in lanes outside the mask"},
}};

} // namespace

KeptReason kept_reason(ir::Op observer) {
  if (observer == ir::Op::export_) return KeptReason::access;
  switch (ir::info(observer).kind) {
  case ir::OpKind::phi: return KeptReason::join;
  case ir::OpKind::load:
  case ir::OpKind::image:
  case ir::OpKind::store:
  case ir::OpKind::atomic: return KeptReason::access;
  case ir::OpKind::gather: return KeptReason::lanes;
  case ir::OpKind::reduce: return KeptReason::wave;
  case ir::OpKind::end: return KeptReason::branch;
  default: return KeptReason::result;
  }
}

std::string_view name(KeptReason reason) { return kTexts[static_cast<size_t>(reason)].name; }
std::string_view sentence(KeptReason reason) { return kTexts[static_cast<size_t>(reason)].sentence; }

} // namespace lanewise::passes
