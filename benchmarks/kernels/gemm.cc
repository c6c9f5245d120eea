// The matrix products of `mlperf` at batch 2048: a forward, a backward and the weights' gradients,
// as training calls them, beside the libraries' own threaded calls.

#include "lazydp/model/gemm.h"

#include <cblas.h>

#include <memory>
#include <vector>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/gemm_onednn.h"
#include "benchmarks/kernels/kernels.h"
#include "lazydp/base/matrix.h"
#include "lazydp/base/parallel.h"

namespace lazydp::bench {
namespace {

constexpr std::size_t kBatch = 2048;
constexpr std::pair<std::size_t, std::size_t> kLayers[] = {
    {13, 512},   {512, 256},   {256, 128},                          // bottom
    {479, 1024}, {1024, 1024}, {1024, 512}, {512, 256}, {256, 1}};  // top

struct Layer {
  Layer(std::size_t in, std::size_t out)
      : input(kBatch, in), weights(out, in), output(kBatch, out), gradient(out, in) {
    input.fill(0.5f);
    weights.fill(1e-3f);
  }
  Matrix input, weights, output, gradient;
};

struct Mlps {
  Mlps() {
    for (const auto& [in, out] : kLayers) layers.emplace_back(in, out);
  }
  std::vector<Layer> layers;
};

double operations() {
  double sum = 0.0;
  for (const auto& [in, out] : kLayers) sum += 3.0 * 2.0 * kBatch * static_cast<double>(in * out);
  return sum;
}

void as_trained(Mlps& mlps) {
  parallel_blocks(kBatch, examples_per_block(kBatch), [&](std::size_t begin, std::size_t end) {
    for (Layer& layer : mlps.layers) {
      times_transpose(layer.input.view().rows_from(begin, end - begin), layer.weights.view(),
                      layer.output.view().rows_from(begin, end - begin));
    }
    for (Layer& layer : mlps.layers) {
      times(layer.output.view().rows_from(begin, end - begin), layer.weights.view(),
            layer.input.view().rows_from(begin, end - begin));
    }
  });
  for (Layer& layer : mlps.layers) {
    parallel_transpose_times(layer.output.view(), layer.input.view(), layer.gradient.view());
  }
}

template <class Gemm>
void whole(Mlps& mlps, Gemm&& gemm) {
  for (Layer& l : mlps.layers) gemm('N', 'T', l.input, l.weights, l.output, l.input.cols());
  for (Layer& l : mlps.layers) gemm('N', 'N', l.output, l.weights, l.input, l.output.cols());
  for (Layer& l : mlps.layers) gemm('T', 'N', l.output, l.input, l.gradient, kBatch);
}

void openblas(Mlps& mlps) {
  openblas_set_num_threads(thread_count());
  whole(mlps, [](char ta, char tb, Matrix& a, Matrix& b, Matrix& c, std::size_t inner) {
    const auto size = [](std::size_t n) { return static_cast<blasint>(n); };
    cblas_sgemm(CblasRowMajor, ta == 'T' ? CblasTrans : CblasNoTrans,
                tb == 'T' ? CblasTrans : CblasNoTrans, size(c.rows()), size(c.cols()), size(inner),
                1.0f, a.data(), size(a.cols()), b.data(), size(b.cols()), 0.0f, c.data(),
                size(c.cols()));
  });
  openblas_set_num_threads(1);  // as training has it
}

void onednn(Mlps& mlps) {
  whole(mlps, [](char ta, char tb, Matrix& a, Matrix& b, Matrix& c, std::size_t inner) {
    onednn_sgemm(ta, tb, c.rows(), c.cols(), inner, a.data(), a.cols(), b.data(), b.cols(),
                 c.data(), c.cols());
  });
}

}  // namespace

void add_gemm_benchmarks() {
  static Mlps mlps;
  const auto timed = [&](const char* name, void (*what)(Mlps&)) {
    add(Timed{name, 2, operations(), "operation", [what] { what(mlps); }});
  };
  timed("gemm/as training calls it", as_trained);
  timed("gemm/OpenBLAS's own threads", openblas);
  if (has_onednn()) timed("gemm/oneDNN's own threads", onednn);
  add(Claim{.what = "products of mlperf: 90 % of the rate of the faster library",
            .ours = "gemm/as training calls it",
            .references = {"gemm/OpenBLAS's own threads", "gemm/oneDNN's own threads"},
            .beside = Beside::fastest,
            .most = 1.0 / 0.9});
}

}  // namespace lazydp::bench
