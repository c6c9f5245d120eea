#pragma once
// The verbs of the program. Each has a file of its own.

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

void train(const Given& given);            // one run, with progress and a report
void resume(const Given& given);           // goes on with a run's folder
void release(const Given& given);          // settles a run and writes its model
void eval(const Given& given);             // how well a released model does
void predict(const Given& given);          // one score a line
void bench_steps(const Given& given);      // step times of several algorithms, interleaved
void sweep(const Given& given);            // a run for every point of a grid, one CSV
void bench_paper(const Given& given);      // the paper's experiments, into a folder
void demo(const Given& given);             // SGD and LazyDP on the click task, side by side
void convert_criteo(const Given& given);   // Criteo logs to a data file
void convert_csv(const Given& given);      // any separated text to a data file, by a schema
void generate(const Given& given);         // a synthetic task as a data file
void inspect(const Given& given);          // what is in a data file
void privacy_epsilon(const Given& given);  // what a mechanism costs
void privacy_noise(const Given& given);    // the least noise within a budget
void privacy_steps(const Given& given);    // the most steps within a budget
void privacy_delta(const Given& given);    // delta at an epsilon
void privacy_curve(const Given& given);    // epsilon over steps
void audit(const Given& given);            // tries to break the claim
void audit_one_run(const Given& given);    // the same, at full size and in one run
void algorithms(const Given& given);       // the table of the seven

}  // namespace lazydp::cli
