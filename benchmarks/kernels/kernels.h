#pragma once
// The benchmarks that each file of this folder registers.

#include <cstddef>

namespace lazydp::bench {

void add_noise_benchmarks();                         // normals from the generator
void add_sweep_benchmarks(std::size_t table_bytes);  // eager noise over a whole table
void add_row_benchmarks(std::size_t table_bytes);    // random rows: settle, update, gather
void add_pooling_benchmarks(
    std::size_t table_bytes);  // bags of 80 rows of 32 floats; removing duplicates
void add_gemm_benchmarks();    // the products of `mlperf`

}  // namespace lazydp::bench
