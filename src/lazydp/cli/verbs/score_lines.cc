#include "lazydp/cli/verbs/score_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
namespace {

constexpr std::size_t kManyBytes = std::size_t{1} << 20;

// Returns a field as RFC 4180 has it: in quotes if it holds a comma, a quote or a line end.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

ScoreFormat choose_format(const FlagTexts& given, bool columns_kept) {
  if (!given.format) return columns_kept ? ScoreFormat::csv : ScoreFormat::bare;
  if (*given.format == "parquet") {
    throw UserError(
        "format is 'parquet', which the Python package writes: "
        "frame.assign(score=lazydp.load(MODEL).score(frame)).to_parquet(FILE); it must be csv or "
        "jsonl here");
  }
  constexpr std::array<std::pair<std::string_view, ScoreFormat>, 2> kFormats = {
      {{"csv", ScoreFormat::csv}, {"jsonl", ScoreFormat::jsonl}}};
  return choice("format", *given.format, kFormats);
}

// The digits of a float tell a probability below one half to seven digits, but not how much is
// missing to 1.
std::string score_text(double probability) {
  constexpr double kNearOne = 0.99;
  constexpr int kDigits = 7;
  std::array<char, 64> text;
  char* const end = text.data() + text.size();
  if (!(probability > kNearOne) || probability >= 1.0) {
    return {text.data(), std::to_chars(text.data(), end, static_cast<float>(probability)).ptr};
  }
  const int zeros = static_cast<int>(-std::log10(1.0 - probability));
  std::string digits(
      text.data(),
      std::to_chars(text.data(), end, probability, std::chars_format::fixed, kDigits + zeros).ptr);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

ScoreLines::ScoreLines(ScoreFormat format, std::vector<std::string> names)
    : format_(format), names_(std::move(names)) {
  if (format_ == ScoreFormat::csv) add_csv(names_, "score");
}

void ScoreLines::add_csv(std::span<const std::string> fields, std::string_view last) {
  for (const std::string& field : fields) (text_ += csv_field(field)) += ',';
  (text_ += last) += '\n';
}

void ScoreLines::add(std::span<const std::string> kept, double probability) {
  const std::string score = score_text(probability);
  if (format_ == ScoreFormat::jsonl) {
    const auto quoted = [](const std::string& text) {
      return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    text_ += '{';
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ((text_ += quoted(names_[i])) += ": ") += quoted(kept[i]) + ", ";
    }
    text_ += "\"score\": " + score + "}\n";
  } else {
    add_csv(format_ == ScoreFormat::csv ? kept : std::span<const std::string>(), score);
  }
  if (text_.size() >= kManyBytes) flush();
}

void ScoreLines::flush() {
  if (!(std::cout << text_)) throw IoError("cannot write to standard output");
  text_.clear();
}

}  // namespace lazydp::cli
