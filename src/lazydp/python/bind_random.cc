// Binds seeds, dense noise and Poisson samples.

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "lazydp/python/bindings.h"
#include "lazydp/random/noise_source.h"
#include "lazydp/random/seed.h"

namespace lazydp {
namespace {

Seed seed_from(const nb::bytes& bytes) {
  std::array<std::uint8_t, 16> key;
  if (bytes.size() != key.size()) {
    throw UserError("the key has " + std::to_string(bytes.size()) + " bytes; it must have 16");
  }
  const auto* from = static_cast<const std::uint8_t*>(bytes.data());
  std::copy(from, from + key.size(), key.begin());
  return Seed::restored(key, true);
}

// Sets out[i] to normal i of the dense noise of step t, counted from weight first_row * 1024.
void dense_normals(const NoiseSource& noise, const Floats& out, Step t, std::uint64_t first_row) {
  const NoiseCells cells = noise.dense(t);
  constexpr std::size_t kRow = NoiseSource::kDenseRow;
  const std::span<float> values = span_of(out);
  std::ranges::fill(values, 0.0f);  // 0 x an uninitialised value may be NaN
  for (std::size_t i = 0; i < values.size(); i += kRow) {
    const NoisyRow row = {values.data() + i, first_row + i / kRow, 0.0f, 1.0f};
    cells.add({&row, 1}, std::min(kRow, values.size() - i));
  }
}

// Sets out.row(r) to the normals of row r of a table at step t, as lazy_each_step and every_row
// draw them.
void table_normals(const NoiseSource& noise, const FloatMatrix& out, TableId table, Step t) {
  std::ranges::fill(span_of(out), 0.0f);  // 0 x an uninitialised value may be NaN
  const std::size_t rows = out.shape(0);
  const std::size_t dim = out.shape(1);
  const NoiseCells cells =
      noise.table(table, static_cast<RowId>(rows), dim, CellKind::each_step, t);
  for (std::size_t r = 0; r < rows; ++r) {
    const NoisyRow row = {out.data() + r * dim, r, 0.0f, 1.0f};
    cells.add({&row, 1}, dim);
  }
}

std::vector<ExampleId> draw(const Sampler& sampler, Step t) {
  Sample sample;
  sampler.draw(t, sample);
  return sample.examples;
}

}  // namespace

void bind_random(nb::module_& module) {
  using nb::literals::operator""_a;
  nb::class_<Seed>(module, "Seed", "The secret that all randomness of a run comes from.")
      .def_static("from_os", &Seed::from_os)
      .def_static("from_bytes", &seed_from, "key"_a)
      .def_static("fixed", &Seed::fixed, "value"_a)
      .def_prop_ro("secret", &Seed::secret);
  nb::class_<NoiseSource>(module, "NoiseSource", "Noise as a pure function of its address.")
      .def(nb::init<const Seed&, unsigned>(), "seed"_a, "normals_per_sample"_a = 1)
      .def("table_normals", &table_normals, "out"_a.noconvert(), "table"_a, "step"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("dense_normals", &dense_normals, "out"_a.noconvert(), "step"_a, "first_row"_a,
           nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Sampler>(module, "Sampler", "Which examples make up the batch of a step.")
      .def("draw", &draw, "step"_a, nb::call_guard<nb::gil_scoped_release>());
  module.def("poisson_sampler", &make_poisson_sampler, "seed"_a, "population"_a, "rate"_a);
}

}  // namespace lazydp
