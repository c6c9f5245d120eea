#pragma once
// A second file whose columns are added to every line of a log, by a key: what is known of a movie,
// to all ratings of it.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lazydp/data/schema.h"

namespace lazydp {

// The file, and the column by which it is joined; log and file both have it under this name.
struct JoinSource {
  std::string path;
  std::string key;
};

// Held in memory. Nothing in it changes: threads may share it.
class JoinedTable {
 public:
  using Row = std::vector<std::string>;  // values of `columns()`

  // Reads a file whose first line names its columns, and whose text is separated and quoted as the
  // schema's. Throws UserError if it has no such key, a key twice, lines of other lengths, or more
  // than kMaxJoinedBytes of text.
  JoinedTable(const JoinSource& source, const Schema& rules);

  const std::string& key() const { return source_.key; }
  const std::vector<std::string>& columns() const { return columns_; }  // but the key

  // Returns the row of a key; null if there is none.
  const Row* find(std::string_view key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }
  std::size_t size() const { return rows_.size(); }

  // Throws UserError unless the schema has the key among the log's own columns, and this table's
  // columns behind them.
  void require_columns(const Schema& schema) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void read_names(std::string_view line, const Schema& rules);
  void read_row(std::string_view line, const Schema& rules, std::uint64_t number);

  JoinSource source_;
  std::size_t key_ = 0;  // index of the key among the file's columns
  std::vector<std::string> columns_;
  std::unordered_map<std::string, Row, Hash, std::equal_to<>> rows_;
};

inline constexpr std::size_t kMaxJoinedBytes = std::size_t{1} << 30;

}  // namespace lazydp
