#pragma once
// The verbs of the program. Each has a file of its own.

#include "lazydp/apps/flags.h"

namespace lazydp::apps {

void train(const Given& given);        // one run, with progress and a report
void resume(const Given& given);       // goes on with a run's folder
void release(const Given& given);      // settles a run and writes its model
void bench_steps(const Given& given);  // step times of several algorithms, interleaved
void demo(const Given& given);         // SGD and LazyDP on the click task, side by side
void algorithms(const Given& given);   // the table of the seven

}  // namespace lazydp::apps
