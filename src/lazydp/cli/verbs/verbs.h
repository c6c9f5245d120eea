#pragma once
// The verbs of the program. Each has a file of its own.

#include "lazydp/bench/bench_options.h"
#include "lazydp/cli/flags.h"

namespace lazydp::cli {

void train(const FlagTexts& given);            // one run, with progress and a report
void resume(const FlagTexts& given);           // goes on with a run's folder
void release(const FlagTexts& given);          // settles a run and writes its model
void eval(const FlagTexts& given);             // how well a released model does
void predict(const FlagTexts& given);          // one score a line
void bench_steps(const FlagTexts& given);      // step times of several algorithms, interleaved
void sweep(const FlagTexts& given);            // a run for every point of a grid, one CSV
void bench_paper(const FlagTexts& given);      // the paper's experiments, into a folder
void demo(const FlagTexts& given);             // SGD and LazyDP on the click task, side by side
void convert_criteo(const FlagTexts& given);   // Criteo logs to a data file
void convert_csv(const FlagTexts& given);      // any separated text to a data file, by a schema
void generate(const FlagTexts& given);         // a synthetic task as a data file
void inspect(const FlagTexts& given);          // what is in a data file
void privacy_epsilon(const FlagTexts& given);  // what a mechanism costs
void privacy_noise(const FlagTexts& given);    // the least noise within a budget
void privacy_steps(const FlagTexts& given);    // the most steps within a budget
void privacy_delta(const FlagTexts& given);    // delta at an epsilon
void privacy_curve(const FlagTexts& given);    // epsilon over steps
void audit(const FlagTexts& given);            // tries to break the claim
void audit_one_run(const FlagTexts& given);    // the same, at full size and in one run
void algorithms(const FlagTexts& given);       // the table of the seven

// What `bench steps` measures. Throws UserError for what cannot be measured, or does not fit into
// memory.
BenchOptions choose_bench(const FlagTexts& given);

}  // namespace lazydp::cli
