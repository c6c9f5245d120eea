#include "lazydp/data/scoring_text.h"

#include <algorithm>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + shown(names[i]);
  }
  return names.size() > kMost ? text + ", ..." : text;
}

std::optional<std::size_t> find(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

ScoringText::ScoringText(const Schema& schema, ScoringTextOptions options)
    : schema_(schema),
      options_(std::move(options)),
      ends_(schema_),
      blocks_({options_.path}, {.ends = ends_}) {
  read_columns();
  for (const Column& column : schema_.columns) {
    places_.push_back(find(names_, column.name));
    if (!places_.back() && is_read(column.role) && !options_.any_columns) {
      throw UserError("'" + options_.path + "' has no column '" + column.name +
                      "', which the model reads; it has " + listed(names_));
    }
  }
  for (const std::string& name : options_.keep) {
    const std::optional<std::size_t> place = find(names_, name);
    if (!place) {
      throw UserError("keep is '" + name + "', but '" + options_.path +
                      "' has no such column; it has " + listed(names_));
    }
    keep_.push_back(*place);
  }
  kept_.resize(keep_.size());
}

bool ScoringText::next_line(std::string_view& line) {
  do {
    while (rest_.empty()) {
      if (block_.then_too_long) {
        line_ = next_line_;
        refuse_long_line();
      }
      if (!blocks_.next(block_)) return false;
      rest_ = block_.text;
    }
    const std::size_t length = ends_.first(rest_, true);
    line = rest_.substr(0, length - 1);
    rest_.remove_prefix(length);
    line_ = next_line_;
    next_line_ += 1 + static_cast<std::size_t>(std::ranges::count(line, '\n'));
    if (line.size() > kMaxLineBytes) refuse_long_line();
    if (line.ends_with('\r')) line.remove_suffix(1);
  } while (line.empty());
  return true;
}

// The first line names the columns, or is an example that says how many there are.
void ScoringText::read_columns() {
  std::string_view line;
  if (!next_line(line)) throw UserError("there is nothing in '" + options_.path + "'");
  split(line);
  if (!options_.header) {
    name_columns_of_schema(fields_.size());
    first_ = line;
    return;
  }
  names_ = fields_;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (find(names_, names_[i]) != i) refuse_line("the column " + shown(names_[i]) + " is twice");
  }
}

void ScoringText::name_columns_of_schema(std::size_t count) {
  const std::size_t all = schema_.columns.size();
  if (count != all && count + 1 != all) {
    refuse_line("the line has " + std::to_string(count) + (count == 1 ? " column" : " columns") +
                "; it must have " + std::to_string(all) + ", or " + std::to_string(all - 1) +
                " without the label");
  }
  for (const Column& column : schema_.columns) {
    if (count == all || column.role != Role::label) names_.push_back(column.name);
  }
}

void ScoringText::split(std::string_view line) {
  Fields fields(schema_, line, scratch_);
  std::size_t count = 0;
  for (; fields.more(); ++count) {
    const std::optional<Field> field = fields.next();
    if (!field) refuse_line("a quote does not end well");
    if (count == fields_.size()) fields_.emplace_back();
    fields_[count] = field->value;
  }
  fields_.resize(count);
}

std::optional<std::vector<TextValue>> ScoringText::next() {
  do {
    std::string_view line;
    if (first_) {
      line = *std::exchange(first_, std::nullopt);
    } else if (!next_line(line)) {
      return std::nullopt;
    }
    split(line);
  } while (options_.header && fields_ == names_);  // the header again, of a joined part
  if (fields_.size() != names_.size()) {
    refuse_line("the line has " + std::to_string(fields_.size()) +
                (fields_.size() == 1 ? " column" : " columns") + "; it must have " +
                std::to_string(names_.size()));
  }
  std::vector<TextValue> values(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i]) values[i] = fields_[*places_[i]];
  }
  for (std::size_t i = 0; i < keep_.size(); ++i) kept_[i] = fields_[keep_[i]];
  return values;
}

void ScoringText::refuse_long_line() const {
  refuse_line("the line is longer than " + std::to_string(kMaxLineBytes) + " bytes");
}

void ScoringText::refuse_line(const std::string& why) const {
  throw UserError(options_.path + ":" + std::to_string(line_) + ": " + why);
}

}  // namespace lazydp
