// Binds the encoder that turns values into the rows and numbers that a model reads.

#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/example_encoder.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/python/bindings.h"

namespace lazydp {
namespace {

template <class Value, std::size_t dimensions>
using Numpy = nb::ndarray<nb::numpy, Value, nb::ndim<dimensions>, nb::c_contig>;

// Returns a NumPy array that owns a copy of `count` values.
template <class Value, std::size_t dimensions, class Source>
Numpy<Value, dimensions> numpy_copy(const Source* values, std::size_t count,
                                    std::initializer_list<std::size_t> shape) {
  auto* const memory = new Value[count];
  for (std::size_t i = 0; i < count; ++i) memory[i] = static_cast<Value>(values[i]);
  const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<Value*>(p); });
  return Numpy<Value, dimensions>(memory, shape, owner);
}

Schema schema_of(const std::string& json) {
  try {
    return schema_from(Json::parse(json));
  } catch (const Json::exception& error) {
    throw UserError(std::string("the schema is not JSON: ") + error.what());
  }
}

// Returns the text of a str, which must outlive it; nothing for None.
TextValue text_of(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return std::string_view(text, static_cast<std::size_t>(size));
}

// The dense features, and (ids, offsets) for each table.
nb::tuple arrays_of(const Batch& batch) {
  nb::list bags;
  for (const Bags& of_table : batch.bags) {
    bags.append(
        nb::make_tuple(numpy_copy<std::int64_t, 1>(of_table.ids.data(), of_table.ids.size(),
                                                   {of_table.ids.size()}),
                       numpy_copy<std::int64_t, 1>(of_table.offsets.data(), of_table.offsets.size(),
                                                   {of_table.offsets.size()})));
  }
  const std::size_t rows = batch.dense.rows();
  const std::size_t cols = batch.dense.cols();
  return nb::make_tuple(numpy_copy<float, 2>(batch.dense.data(), rows * cols, {rows, cols}), bags);
}

// `columns` has, for each column of the schema, a list with a str or None for every example; or
// None for a column in which every value is missing.
nb::tuple encode(ExampleEncoder& encoder, const nb::list& columns, std::size_t examples) {
  const std::size_t count = encoder.schema().columns.size();
  if (columns.size() != count) throw UserError("one list of values is needed for each column");
  std::vector<PyObject*> lists(count, nullptr);
  for (std::size_t c = 0; c < count; ++c) {
    if (columns[c].is_none()) continue;
    lists[c] = columns[c].ptr();
    if (!PyList_Check(lists[c]) || static_cast<std::size_t>(PyList_Size(lists[c])) != examples) {
      throw UserError("the columns are not lists of one length");
    }
  }
  Batch batch;
  std::string why;
  std::vector<TextValue> values(count);
  encoder.take(batch);  // forgets what an example that was refused left behind
  for (std::size_t i = 0; i < examples; ++i) {
    for (std::size_t c = 0; c < count; ++c) {
      if (lists[c] != nullptr) {
        values[c] = text_of(PyList_GET_ITEM(lists[c], static_cast<Py_ssize_t>(i)));
      }
    }
    if (!encoder.add(values, why)) throw UserError("example " + std::to_string(i) + ": " + why);
  }
  encoder.take(batch);
  return arrays_of(batch);
}

}  // namespace

void bind_serving(nb::module_& module) {
  using nb::literals::operator""_a;
  nb::class_<ExampleEncoder>(module, "ExampleEncoder")
      .def(
          "__init__",
          [](ExampleEncoder* self, const std::string& schema) {
            new (self) ExampleEncoder(schema_of(schema));
          },
          "schema"_a)
      .def("encode", &encode, "columns"_a, "examples"_a);
}

}  // namespace lazydp
