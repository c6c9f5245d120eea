// Takes steps of the native trainer when another program requests them, so that both can be timed
// in turn: native_steps FLAGS takes those flags of `lazydp bench steps` that say what to time; a
// line on standard input requests a step of every contender, and a line of JSON answers with their
// milliseconds.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/bench/step_times.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::cli {
namespace {

FlagTexts given_by(int argc, char** argv) {
  FlagTexts given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto flag = std::ranges::find(all_flags(), argv[i], &Flag::name);
    if (flag == all_flags().end()) throw UserError(std::string("no flag is called ") + argv[i]);
    given.*flag->value = argv[i + 1];
  }
  return given;
}

void take_turns(const FlagTexts& given) {
  choose_threads(given);
  const BenchOptions options = choose_bench(given);
  const TrainingData task = load_data(options.task, options.model.shape);
  const Seed seed = Seed::make(options.seed);
  ModelAndTables model_and_tables(options.model.shape, seed);
  const std::vector<Entry> entries = entries_of(options);
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    contenders.push_back(make_contender(options, task, entries[i], seed, i, model_and_tables));
    for (Step round = 1; round <= options.warmup; ++round) contenders[i].trainer->step();
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    nlohmann::json ms = nlohmann::json::object();
    for (Contender& contender : contenders) {
      StepTimes times;
      times.add(contender.trainer->step());
      ms[std::string(contender.trainer->plan().recipe.name)] = times.compute_ms().front();
    }
    std::cout << ms << std::endl;  // flushes: the caller waits for it
  }
}

}  // namespace
}  // namespace lazydp::cli

int main(int argc, char** argv) {
  try {
    lazydp::cli::take_turns(lazydp::cli::given_by(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "native_steps: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
