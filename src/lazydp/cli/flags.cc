#include "lazydp/cli/flags.h"

#include <algorithm>
#include <cctype>

#include "lazydp/cli/parse_value.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/recipe.h"

namespace lazydp::cli {

namespace {

// Returns whether a word of a hint is literal, such as "sum", rather than a placeholder, such as
// "COLUMN".
bool is_literal(const std::string& word) {
  return word.size() > 1 && std::ranges::none_of(word, [](unsigned char letter) {
           return std::isupper(letter) != 0 || letter == '.' || letter == ',';
         });
}

FlagValues values_in(std::string_view hint) {
  FlagValues values;
  for (const std::string& word : parts_of(hint, "|")) {
    if (word == "FILE" || word == "DIR") values.files = true;
    if (is_literal(word)) values.words.push_back(word);
  }
  return values;
}

}  // namespace

FlagValues values_of(const Flag& flag) {
  FlagValues values = values_in(flag.hint);
  if (flag.value == &FlagTexts::algorithm || flag.value == &FlagTexts::algorithms) {
    for (const Recipe& recipe : kRecipes) values.words.emplace_back(recipe.name);
  }
  if (flag.value == &FlagTexts::model && flag.hint == "NAME") {
    for (const std::string_view name : model_names()) values.words.emplace_back(name);
  }
  return values;
}

FlagValues operand_values(std::string_view operands) {
  FlagValues values = values_in(operands);
  values.files = values.words.empty() && !operands.empty();
  return values;
}

}  // namespace lazydp::cli
