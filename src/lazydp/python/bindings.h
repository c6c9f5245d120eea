#pragma once
// Tensor types that the parts of the extension share.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lazydp {

namespace nb = nanobind;

// Tensors are passed as DLPack capsules or buffers, without copies; the caller keeps them alive
// while a call lasts, and for as long as a table is bound to them.
using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

void bind_errors(nb::module_& module);
void bind_random(nb::module_& module);
void bind_bags(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_privacy(nb::module_& module);
void bind_audit(nb::module_& module);
void bind_serving(nb::module_& module);
void bind_convert(nb::module_& module);

}  // namespace lazydp
