#pragma once
// The verbs of the program, each in a file of its own.

#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/cli/flags.h"

namespace lazydp::cli {

void train(const FlagTexts& given);           // trains one run, with progress and a report
void resume(const FlagTexts& given);          // continues a run's folder
void release(const FlagTexts& given);         // settles a run and writes its model
void compare(const FlagTexts& given);         // shows several runs side by side
void eval(const FlagTexts& given);            // scores a released model on a data file
void predict(const FlagTexts& given);         // prints one score a line
void recommend(const FlagTexts& given);       // prints the best items of each user
void export_onnx(const FlagTexts& given);     // says who writes ONNX graphs
void export_int8(const FlagTexts& given);     // rounds a model's tables to eight bits a weight
void verify(const FlagTexts& given);          // checks a released model against its card
void bench_steps(const FlagTexts& given);     // times steps of several algorithms, interleaved
void sweep(const FlagTexts& given);           // trains every point of a grid, into one CSV
void tune(const FlagTexts& given);            // searches a grid, and pays for the choice
void bench_paper(const FlagTexts& given);     // runs the paper's experiments, into a folder
void demo(const FlagTexts& given);            // trains SGD and LazyDP on the click task
void convert_criteo(const FlagTexts& given);  // converts Criteo logs to a data file
void convert_csv(const FlagTexts& given);     // converts separated text to a data file, by a schema
void convert_jsonl(const FlagTexts& given);   // converts JSON lines to a data file, by a schema
void convert_parquet(const FlagTexts& given);  // converts Parquet files to a data file, by a schema
void generate(const FlagTexts& given);         // writes a synthetic task as a data file
void inspect(const FlagTexts& given);          // describes a data file, a run or a model
void privacy_epsilon(const FlagTexts& given);  // prints a mechanism's cost
void privacy_noise(const FlagTexts& given);    // prints the least noise within a budget
void privacy_steps(const FlagTexts& given);    // prints the most steps within a budget
void privacy_delta(const FlagTexts& given);    // prints delta at an epsilon
void privacy_curve(const FlagTexts& given);    // prints epsilon over steps
void ledger(const FlagTexts& given);           // makes or prints a ledger of all runs on some data
void audit(const FlagTexts& given);            // attacks the claim
void audit_one_run(const FlagTexts& given);    // attacks the claim at full size and in one run
void algorithms(const FlagTexts& given);       // prints the table of the seven algorithms

// Describes the folder of a run or of a released model: inspect() for folders.
void inspect_folder(const FlagTexts& given);

// Returns what `bench steps` measures. Throws UserError for options that cannot be measured, or do
// not fit into memory.
BenchOptions choose_bench(const FlagTexts& given);

}  // namespace lazydp::cli
