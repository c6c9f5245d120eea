// lazydp predict: prints scores, in the order of the examples.

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/score_lines.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/scoring_text.h"
#include "lazydp/train/evaluation.h"

namespace lazydp::cli {
namespace {

// Returns whether a file can be opened and does not begin as data files do.
bool is_text(const std::string& path) {
  if (path == "-") return true;
  std::ifstream file(path, std::ios::binary);
  std::uint64_t magic = 0;
  const bool opened = file.is_open();
  file.read(reinterpret_cast<char*>(&magic), sizeof magic);
  return opened && magic != kFileMagic;
}

void predict_data_file(const FlagTexts& given) {
  if (given.keep) {
    throw UserError("keep is '" + *given.keep + "', but '" + given.operands[1] +
                    "' is a data file, which holds hashes and no values; give the text that it "
                    "was made of");
  }
  const Scored scored = choose_scored(given);
  ScoreLines lines(choose_format(given, false), {});
  score(
      *scored.data, [&](const Batch& batch) { return scored.model->predict(batch); },
      [&](const Batch&, std::span<const float> logits) {
        for (const float logit : logits) lines.add({}, probability(logit));
        lines.flush();
      });
}

// The examples of a text that are scored together, and what is printed beside their scores.
class TextScores {
 public:
  TextScores(const OpenedModel& opened, ScoreLines& lines)
      : opened_(opened), encoder_(opened.schema()), lines_(lines) {}

  void read(ScoringText& text) {
    std::string why;
    while (const auto values = text.next()) {
      if (!encoder_.add(*values, why)) text.refuse_line(why);
      kept_.push_back(text.kept());
      if (encoder_.size() == kBatch) score();
    }
    score();
  }

 private:
  static constexpr std::size_t kBatch = 4096;

  void score() {
    encoder_.take(batch_);
    const std::span<const float> logits = opened_.model->predict(batch_);
    for (std::size_t i = 0; i < logits.size(); ++i) lines_.add(kept_[i], probability(logits[i]));
    lines_.flush();
    kept_.clear();
  }

  const OpenedModel& opened_;
  ExampleEncoder encoder_;
  ScoreLines& lines_;
  Batch batch_;
  std::vector<std::vector<std::string>> kept_;
};

void predict_text(const FlagTexts& given) {
  if (given.test || given.split_by) {
    throw UserError("test takes a share of a data file, but '" + given.operands[1] + "' is text");
  }
  const OpenedModel opened = open_model(given.operands[0]);
  const Schema schema = opened.schema();
  const std::vector<std::string> keep =
      given.keep ? parts_of(*given.keep, ",") : std::vector<std::string>();
  ScoreLines lines(choose_format(given, !keep.empty()), keep);
  ScoringText text(schema, {.path = given.operands[1], .header = schema.header, .keep = keep});
  TextScores(opened, lines).read(text);
}

}  // namespace

void predict(const FlagTexts& given) {
  choose_threads(given);
  if (is_text(given.operands[1])) {
    predict_text(given);
  } else {
    predict_data_file(given);
  }
}

}  // namespace lazydp::cli
