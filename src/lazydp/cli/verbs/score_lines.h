#pragma once
// Scores as lines of text: alone, or beside columns of the data.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

enum class ScoreFormat : std::uint8_t { bare, csv, jsonl };  // bare: the score and nothing else

// Returns what --format asks for: by default bare scores, or CSV if columns are kept. Throws
// UserError for any other format.
ScoreFormat choose_format(const FlagTexts& given, bool columns_kept);

// Returns a probability in so many digits that it and 1 minus it are told to seven.
std::string score_text(double probability);

// Writes lines to standard output, many at a time.
class ScoreLines {
 public:
  // `names` are those of the texts that stand before each score.
  ScoreLines(ScoreFormat format, std::vector<std::string> names);

  void add(std::span<const std::string> kept, double probability);

  // Writes what was added. Throws IoError if standard output cannot be written.
  void flush();

 private:
  void add_csv(std::span<const std::string> fields, std::string_view last);

  ScoreFormat format_;
  std::vector<std::string> names_;
  std::string text_;
};

}  // namespace lazydp::cli
