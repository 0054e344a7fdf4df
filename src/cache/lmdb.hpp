// LMDB with destructors, and its failures as Errors.
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <lmdb.h>
#include <span>
#include <string_view>
#include <utility>

namespace lanewise::cache {

[[nodiscard]] inline std::unexpected<Error> lmdb_error(int code, std::string_view doing) {
  const bool damaged = code == MDB_INVALID || code == MDB_VERSION_MISMATCH || code == MDB_CORRUPTED ||
                       code == MDB_PAGE_NOTFOUND || code == MDB_PANIC;
  return fail(damaged ? ErrorKind::input : ErrorKind::system, mdb_strerror(code), std::string(doing));
}

/// A transaction that is aborted unless commit() is called.
class Transaction {
 public:
  /// `flags`: MDB_RDONLY or 0.
  [[nodiscard]] static Expected<Transaction> begin(MDB_env* env, unsigned flags) {
    MDB_txn* txn = nullptr;
    if (const int code = mdb_txn_begin(env, nullptr, flags, &txn); code != 0)
      return lmdb_error(code, "starting a transaction");
    return Transaction(txn);
  }
  Transaction(Transaction&& other) noexcept : txn_(std::exchange(other.txn_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (txn_) mdb_txn_abort(txn_);
  }
  [[nodiscard]] Expected<void> commit() {
    if (const int code = mdb_txn_commit(std::exchange(txn_, nullptr)); code != 0)
      return lmdb_error(code, "committing");
    return {};
  }
  [[nodiscard]] MDB_txn* get() const { return txn_; }

 private:
  explicit Transaction(MDB_txn* txn) : txn_(txn) {}
  MDB_txn* txn_;
};

class Cursor {
 public:
  Cursor(const Transaction& txn, MDB_dbi table) {
    if (mdb_cursor_open(txn.get(), table, &cursor_) != 0) cursor_ = nullptr;
  }
  ~Cursor() {
    if (cursor_) mdb_cursor_close(cursor_);
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  /// False at the end.
  [[nodiscard]] bool next(MDB_val& key, MDB_val& value) {
    return cursor_ && mdb_cursor_get(cursor_, &key, &value, MDB_NEXT) == 0;
  }

 private:
  MDB_cursor* cursor_ = nullptr;
};

[[nodiscard]] inline MDB_val as_value(std::span<const uint8_t> bytes) {
  return {bytes.size(), const_cast<uint8_t*>(bytes.data())};
}
[[nodiscard]] inline std::span<const uint8_t> as_bytes(const MDB_val& v) {
  return {static_cast<const uint8_t*>(v.mv_data), v.mv_size};
}

} // namespace lanewise::cache
