// lazydp compare: several runs side by side.

#include <algorithm>
#include <iomanip>
#include <optional>

#include "lazydp/base/error.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/comparison.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {
namespace {

void print(std::ostream& out, const Comparison& comparison) {
  Comparison::Rows rows = {{""}};
  for (const RunRecord& run : comparison.runs) rows[0].push_back(run.folder);
  const Comparison::Rows differences = comparison.differences_in_words();
  rows.insert(rows.end(), differences.begin(), differences.end());
  const std::size_t settings = rows.size();
  const Comparison::Rows results = comparison.results();
  rows.insert(rows.end(), results.begin(), results.end());

  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r == settings) out << "\n";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      out << "  " << (c == 0 ? std::left : std::right) << std::setw(static_cast<int>(widths[c]))
          << rows[r][c];
    }
    out << "\n";
  }
  for (const std::string& warning : comparison.warnings()) out << "Careful: " << warning << ".\n";
  out << "Secret: these numbers are computed from the data, and no epsilon covers them.\n";
}

}  // namespace

void compare(const FlagTexts& given) {
  const Output output(given);
  const std::optional<OutputFile> html =
      given.html ? std::optional<OutputFile>(*given.html) : std::nullopt;
  if (given.operands.size() < 2) {
    throw UserError("lazydp compare takes two runs or more, and one was given: '" +
                    given.operands.front() + "'; lazydp inspect describes one");
  }
  Comparison comparison;
  for (const std::string& folder : given.operands) {
    comparison.runs.push_back(read_run_record(folder));
  }
  const bool page_on_output = html && html->is_standard_output();
  if (std::ostream* out = output.report(); out != nullptr && !page_on_output) {
    print(*out, comparison);
  }
  if (html) html->write(comparison.page());
  output.write(comparison.json());
}

}  // namespace lazydp::cli
