// lazydp generate: writes a synthetic task as a data file.

#include <iostream>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/data/training_data.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::cli {

void generate(const FlagTexts& given) {
  choose_threads(given);
  const std::string& path = given.operands.front();
  refuse_to_replace(path);
  const ModelChoice model = choose_model(given);
  DataSource choice = choose_source(given, model);
  if (given.examples && choice.learnable()) {
    throw UserError("examples is '" + *given.examples + "', but synthetic " + choice.name +
                    " has its own number of examples");
  }
  constexpr std::uint64_t kUsual = 1'000'000;
  choice.timing_examples =
      given.examples ? whole_number("examples", *given.examples, 1, kMaxExamples) : kUsual;
  const Output output(given);

  const TrainingData task = load_data(choice, model.shape);
  std::vector<const Dataset*> parts = {task.train.get()};
  if (task.held_out) parts.push_back(task.held_out.get());
  const std::uint64_t bytes =
      write_data_file(path, "synthetic " + choice.name, parts, model.shape.pooling);

  std::uint64_t examples = 0;
  for (const Dataset* part : parts) examples += part->size();
  if (std::ostream* out = output.report()) {
    *out << path << ": " << with_commas(static_cast<double>(examples)) << " examples of synthetic "
         << choice.name;
    if (task.held_out) {
      *out << ", the last " << with_commas(static_cast<double>(task.held_out->size()))
           << " of them its held-out part";
    }
    *out << ", " << human_bytes(static_cast<double>(bytes)) << "\n";
  }
  output.write({{"output", path}, {"examples", examples}, {"file_bytes", bytes}});
}

}  // namespace lazydp::cli
