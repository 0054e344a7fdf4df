#include "ir/parser.hpp"

#include "ir/text.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lanewise::ir {
namespace {

struct Position {
  uint32_t line = 1, column = 1;
};

enum class TokenKind : uint8_t { end, word, value, string, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text; ///< without quotes, '%'
  Position at;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { advance(); }
  [[nodiscard]] const Token& peek() const { return token_; }
  Token take() {
    const Token t = token_;
    advance();
    return t;
  }

 private:
  void drop(size_t n) {
    at_.column += static_cast<uint32_t>(n);
    rest_.remove_prefix(n);
  }
  void skip_space() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '\n') {
        rest_.remove_prefix(1);
        ++at_.line;
        at_.column = 1;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        drop(1);
      } else if (c == ';') {
        drop(std::min(rest_.find('\n'), rest_.size()));
      } else {
        return;
      }
    }
  }
  size_t word_length(size_t from) const {
    size_t n = from;
    while (n < rest_.size() && is_word(rest_[n])) ++n;
    return n;
  }
  void advance() {
    skip_space();
    token_ = {TokenKind::end, {}, at_};
    if (rest_.empty()) return;
    size_t length = 1, skip = 0, tail = 0;
    if (rest_.front() == '%') {
      token_.kind = TokenKind::value;
      length = word_length(skip = 1);
    } else if (rest_.front() == '"') {
      token_.kind = TokenKind::string;
      skip = tail = 1;
      while (length < rest_.size() && rest_[length] != '"' && rest_[length] != '\n') {
        length += rest_[length] == '\\' ? 2 : 1;
      }
      length = std::min(length, rest_.size());
      if (length < rest_.size()) ++length;
      tail = length > 1 && rest_[length - 1] == '"' ? 1 : 0;
    } else if (is_word(rest_.front())) {
      token_.kind = TokenKind::word;
      length = word_length(0);
    } else {
      token_.kind = TokenKind::punctuation;
    }
    token_.text = rest_.substr(skip, length - skip - tail);
    drop(length);
  }

  std::string_view rest_;
  Position at_;
  Token token_;
};

std::string unquoted(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      continue;
    }
    unsigned code = 0;
    const auto [end, error] =
        std::from_chars(s.data() + i + 1, s.data() + std::min(i + 3, s.size()), code, 16);
    if (error == std::errc{} && end == s.data() + i + 3) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += s[++i];
    }
  }
  return out;
}

std::optional<uint32_t> integer(std::string_view s) {
  uint32_t value = 0;
  const int base = s.starts_with("0x") ? 16 : 10;
  if (base == 16) s.remove_prefix(2);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc{} && end == s.data() + s.size() ? std::optional(value) : std::nullopt;
}

/// An operand before all values are known.
struct OperandText {
  Value constant;        ///< if set
  std::string_view name; ///< else
  Position at;
};

struct PendingInst {
  Value value;
  uint32_t first_operand = 0, operand_count = 0;
};

struct PendingBlock {
  uint32_t index = 0;
  std::vector<Block> predecessors, successors;
  Position at;
};

// Instructions are made while reading, without operands; these are filled in at the end, when every name is
// known. Failure is remembered in `error_` and every step stops when it is set.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Expected<Function> run() {
    header();
    while (ok() && lexer_.peek().text != "}" && lexer_.peek().kind != TokenKind::end) block();
    expect("}");
    if (ok() && lexer_.peek().kind != TokenKind::end) error(lexer_.peek().at, "text follows the function");
    if (ok()) link();
    if (ok()) fill_operands();
    if (!ok()) return std::unexpected(std::move(*error_));
    return std::move(function_);
  }

 private:
  [[nodiscard]] bool ok() const { return !error_; }
  void error(Position at, std::string what, std::string hint = {}) {
    if (error_) return;
    error_ =
        Error{ErrorKind::input, std::move(what), fmt::format("{}:{}", at.line, at.column), std::move(hint)};
  }
  bool accept(std::string_view text) {
    if (lexer_.peek().kind == TokenKind::string || lexer_.peek().kind == TokenKind::value) return false;
    if (lexer_.peek().text != text || lexer_.peek().kind == TokenKind::end) return false;
    lexer_.take();
    return true;
  }
  void expect(std::string_view text) {
    if (ok() && !accept(text)) error(lexer_.peek().at, fmt::format("expected '{}'", text));
  }
  uint32_t number(std::string_view what) {
    const Token t = lexer_.take();
    const auto value = t.kind == TokenKind::word ? integer(t.text) : std::nullopt;
    if (!value) error(t.at, fmt::format("expected {}", what));
    return value.value_or(0);
  }
  Block block_reference() {
    const Token t = lexer_.take();
    const auto index =
        t.kind == TokenKind::word && t.text.starts_with('b') ? integer(t.text.substr(1)) : std::nullopt;
    if (!index) error(t.at, "expected a block as 'b3'");
    return {index.value_or(0)};
  }
  uint32_t pc() { return accept("@") ? number("a guest address behind '@'") : 0; }

  void header() {
    expect("function");
    const Token name = lexer_.take();
    if (name.kind != TokenKind::string) error(name.at, "expected the function's name in quotes");
    function_.name = unquoted(name.text);
    const Token wave = lexer_.take();
    if (wave.text != "wave32" && wave.text != "wave64") error(wave.at, "expected wave32 or wave64");
    function_.wave_size = wave.text == "wave64" ? 64 : 32;
    expect("lds");
    function_.lds_bytes = number("bytes of LDS");
    expect("scratch");
    function_.scratch_bytes = number("bytes of scratch");
    function_.divergent = accept("divergent");
    expect("{");
  }

  void block() {
    PendingBlock p{.at = lexer_.peek().at};
    p.index = block_reference().index;
    if (ok() && p.index != function_.blocks.size()) {
      error(p.at, fmt::format("expected block b{}", function_.blocks.size()), "blocks are numbered in order");
    }
    expect(":");
    if (ok() && accept("from")) {
      do p.predecessors.push_back(block_reference());
      while (ok() && accept(","));
    }
    if (!ok()) return;
    current_ = function_.add_block(pc());
    blocks_.push_back(std::move(p));
    while (ok() && !at_block_end()) instruction();
  }
  /// "b3" can only start a block; operations that start with b are longer or contain no digits.
  [[nodiscard]] bool at_block_end() const {
    const Token& t = lexer_.peek();
    if (t.kind == TokenKind::end || t.text == "}") return true;
    return t.kind == TokenKind::word && t.text.starts_with('b') && integer(t.text.substr(1));
  }

  struct Result {
    std::string_view name;
    Position at;
    Type type = Type::none;
    bool uniform = false;
    uint8_t components = 1;
  };

  Result result() {
    const Token t = lexer_.take();
    Result r{.name = t.text, .at = t.at};
    expect("=");
    r.uniform = ok() && accept("uniform");
    const Token type = lexer_.take();
    const size_t x = type.text.find('x');
    const auto named = type_named(type.text.substr(0, x));
    if (type.kind != TokenKind::word || !named || *named == Type::none) error(type.at, "expected a type");
    r.type = named.value_or(Type::none);
    if (x != std::string_view::npos) {
      const auto n = integer(type.text.substr(x + 1));
      if (!n || *n < 1 || *n > 255) error(type.at, "a tuple has 1 to 255 components");
      r.components = static_cast<uint8_t>(n.value_or(1));
    }
    return r;
  }

  void instruction() {
    Result r;
    const bool has_result = lexer_.peek().kind == TokenKind::value;
    if (has_result) r = result();
    if (!ok()) return;
    const Token t = lexer_.take();
    const size_t dot = std::min(t.text.find('.'), t.text.size());
    const auto op = t.kind == TokenKind::word ? op_named(t.text.substr(0, dot)) : std::nullopt;
    if (!op || *op == Op::constant) return error(t.at, fmt::format("unknown operation '{}'", t.text));
    const auto imm = read_immediate(*op, t.text.substr(dot));
    if (!imm) return error(t.at, fmt::format("'{}' has an unknown suffix", t.text));
    if ((info(*op).result != ResultRule::none) != has_result) {
      return error(t.at, has_result ? "this operation has no result" : "the operation's result needs a name");
    }
    line_ = t.at.line;
    PendingInst p{.first_operand = static_cast<uint32_t>(operands_.size())};
    operands(*op);
    p.operand_count = static_cast<uint32_t>(operands_.size()) - p.first_operand;
    if (ok() && p.operand_count > 0xffff) error(t.at, "too many operands");
    if (ok()) make(*op, *imm, r, has_result, p);
  }

  void make(Op op, uint64_t imm, const Result& r, bool has_result, PendingInst p) {
    if (function_.value_count() >= limits::max_ir_values) {
      return error(r.at, "more values than limits::max_ir_values");
    }
    p.value = function_.append(current_, Op::phi, {}, r.type, imm, r.components, pc());
    Inst& inst = function_[p.value];
    inst.op = op;
    inst.uniform = has_result ? r.uniform : true;
    if (has_result && !names_.emplace(r.name, p.value).second) {
      error(r.at, fmt::format("%{} is defined twice", r.name));
    }
    instructions_.push_back(p);
  }

  /// Operands, and behind them a terminator's successors.
  void operands(Op op) {
    const bool end = info(op).kind == OpKind::end;
    if (!starts_operand() && !(end && starts_block())) return;
    do {
      if (end && starts_block()) {
        blocks_.back().successors.push_back(block_reference());
      } else {
        operand();
      }
    } while (ok() && accept(","));
  }
  [[nodiscard]] bool starts_operand() const {
    const Token& t = lexer_.peek();
    if (t.kind == TokenKind::word) return type_named(t.text).value_or(Type::none) != Type::none;
    // An operation without operands ends with its line: a value on the next line is the next result.
    return t.kind == TokenKind::value && t.at.line == line_;
  }
  [[nodiscard]] bool starts_block() const {
    const Token& t = lexer_.peek();
    return t.kind == TokenKind::word && t.text.starts_with('b') && t.at.line == line_;
  }
  void operand() {
    const Token t = lexer_.take();
    if (t.kind == TokenKind::value) {
      operands_.push_back({{}, t.text, t.at});
      return;
    }
    const auto type = t.kind == TokenKind::word ? type_named(t.text) : std::nullopt;
    if (!type || *type == Type::none) return error(t.at, "expected an operand as '%3' or 'i32 3'");
    const Token c = lexer_.take();
    const auto bits = c.kind == TokenKind::word ? read_constant(*type, c.text) : std::nullopt;
    if (!bits) return error(c.at, fmt::format("'{}' is no constant of type {}", c.text, t.text));
    operands_.push_back({function_.constant(*type, *bits), {}, t.at});
  }

  void link() {
    const auto check = [&](const std::vector<Block>& list, Position at) {
      for (const Block b : list) {
        if (b.index >= function_.blocks.size()) error(at, fmt::format("there is no block b{}", b.index));
      }
    };
    if (function_.blocks.empty()) error({}, "the function has no blocks");
    for (PendingBlock& p : blocks_) {
      check(p.predecessors, p.at);
      check(p.successors, p.at);
      if (p.successors.size() > 2) error(p.at, "the block has more than two successors");
      if (!ok()) return;
      BasicBlock& b = function_.blocks[p.index];
      b.predecessors = std::move(p.predecessors);
      b.successor_count = static_cast<uint8_t>(p.successors.size());
      std::ranges::copy(p.successors, b.successors.begin());
    }
  }

  void fill_operands() {
    std::vector<Value> values;
    for (const PendingInst& p : instructions_) {
      values.clear();
      for (const OperandText& o : std::span(operands_).subspan(p.first_operand, p.operand_count)) {
        const auto it = o.constant ? names_.end() : names_.find(o.name);
        if (!o.constant && it == names_.end()) return error(o.at, fmt::format("unknown value %{}", o.name));
        values.push_back(o.constant ? o.constant : it->second);
      }
      function_.set_operands(p.value, values);
    }
  }

  Lexer lexer_;
  Function function_;
  Block current_;
  uint32_t line_ = 0; ///< of the operation being read
  std::vector<PendingBlock> blocks_;
  std::vector<PendingInst> instructions_;
  std::vector<OperandText> operands_;
  std::unordered_map<std::string_view, Value> names_;
  std::optional<Error> error_;
};

} // namespace

Expected<Function> parse(std::string_view text) { return Parser(text).run(); }

} // namespace lanewise::ir
