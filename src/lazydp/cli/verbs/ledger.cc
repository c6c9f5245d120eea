// lazydp ledger: makes the ledger of all runs on a source of data, or says what they have spent.

#include <filesystem>
#include <ostream>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/privacy_block.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/privacy/lifetime_ledger.h"

namespace lazydp::cli {

namespace {

LifetimeTerms choose_terms(const FlagTexts& given) {
  return {
      .budget = {positive("epsilon", needed(given.epsilon, "epsilon", "8, which makes the file")),
                 between_0_and_1("delta", needed(given.delta, "delta", "1e-7"), "1e-7")},
      .unit = given.privacy_unit.value_or(kSingleExample),
      .disjoint_data = given.disjoint_data && truth("disjoint-data", *given.disjoint_data)};
}

void print(std::ostream& out, const std::string& path, const Lifetime& lifetime) {
  const LifetimeTerms& terms = lifetime.terms();
  out << path << ": epsilon " << shortest(terms.budget.epsilon) << " at delta "
      << shortest(terms.budget.delta) << " for all runs together, "
      << (terms.unit == kSingleExample ? "of one example" : "of all examples of one " + terms.unit)
      << (terms.disjoint_data ? "; data of different names is declared to be disjoint" : "") << "\n"
      << "spent or reserved: " << rounded_up(lifetime.epsilon(), 5) << "\n";
  for (const LifetimeEntry& entry : lifetime.entries()) {
    out << "  " << entry.run << "  " << with_commas(static_cast<double>(entry.published.steps()))
        << " steps published"
        << (entry.reserved.empty()
                ? std::string()
                : ", " + with_commas(static_cast<double>(entry.reserved.steps())) + " reserved")
        << (entry.data.empty() ? std::string() : ", data " + entry.data) << "\n";
  }
}

}  // namespace

void ledger(const FlagTexts& given) {
  const std::string& path = given.operands.front();
  const LifetimeFile file(path);
  if (given.withdraw) {
    file.withdraw(*given.withdraw);
  } else if (given.epsilon || !std::filesystem::exists(path)) {
    LifetimeFile::create(path, choose_terms(given));
  }
  const Output output(given);
  const Lifetime lifetime = file.read();
  if (std::ostream* out = output.report()) print(*out, path, lifetime);
  Json json = json_of(lifetime);
  json["spent_or_reserved"] = lifetime.epsilon();
  output.write(json);
}

}  // namespace lazydp::cli
