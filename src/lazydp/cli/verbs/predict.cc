// lazydp predict: prints one score a line, in the order of the examples.

#include <array>
#include <charconv>
#include <iostream>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/evaluation.h"

namespace lazydp::cli {

void predict(const FlagTexts& given) {
  choose_threads(given);
  const Scored scored = choose_scored(given);
  std::string text;
  std::array<char, 32> number;
  score(
      *scored.data, [&](const Batch& batch) { return scored.model->predict(batch); },
      [&](const Batch&, std::span<const float> logits) {
        text.clear();
        for (const float logit : logits) {
          const auto score = static_cast<float>(probability(logit));
          text.append(number.data(),
                      std::to_chars(number.data(), number.data() + number.size(), score).ptr);
          text += '\n';
        }
        if (!(std::cout << text)) throw IoError("cannot write to standard output");
      });
}

}  // namespace lazydp::cli
