#pragma once
// How long a thread that waits for the others keeps its core busy.

namespace lazydp::cli {

// OpenMP's threads spin for milliseconds before they sleep. On a machine that others use too they
// spin while the thread they wait for is not running: with 8 busy processes on 2 cores a step of
// `mlperf` took 2.3 times as long as with short spinning, and the demo 167 s instead of 20. The
// run-time library reads the setting when it is loaded, so the program starts itself once more.
// Does nothing if the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY. `words` are those of main().
void wait_politely(char** words);

}  // namespace lazydp::cli
