// Binds the conversion of tables in memory to data files.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/arrow/convert_arrow.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/python/bindings.h"

namespace lazydp {
namespace {

// Takes the stream out of the capsule, whose own destructor then releases nothing.
Conversion convert_capsule(const nb::capsule& capsule, const std::string& output,
                           const std::string& schema, std::optional<std::uint64_t> salt,
                           std::uint64_t max_bad_rows) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  if (stream->release == nullptr) {
    throw UserError("the stream was read already; ask its source for a new one");
  }
  ArrowStream owned(*stream);
  const nb::gil_scoped_release unlocked;  // a stream that runs Python takes the lock by itself
  ConvertArrowOptions options{
      .output = output, .schema = read_schema(schema), .max_bad_rows = max_bad_rows};
  if (salt) options.schema.salt = *salt;
  const auto next = [&](std::size_t i, ArrowArrayStream& out) -> std::string {
    if (i > 0) return {};
    out = *owned.get();
    owned.get()->release = nullptr;
    return "the source";
  };
  return convert_arrow(options, next, [](const Conversion&) {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
  });
}

}  // namespace

void bind_convert(nb::module_& module) {
  using nb::literals::operator""_a;
  nb::class_<BadLine>(module, "BadRow")
      .def_ro("row", &BadLine::line)
      .def_ro("reason", &BadLine::reason);
  nb::class_<Conversion>(module, "Conversion")
      .def_ro("rows", &Conversion::lines)
      .def_ro("examples", &Conversion::examples)
      .def_ro("positives", &Conversion::positives)
      .def_ro("bad_rows", &Conversion::bad)
      .def_ro("first_bad", &Conversion::first_bad)
      .def_ro("stopped", &Conversion::stopped)
      .def_ro("file_bytes", &Conversion::file_bytes);
  module.def("convert", &convert_capsule, "stream"_a, "output"_a, "schema"_a,
             "salt"_a.none() = nb::none(), "max_bad_rows"_a = 0);
}

}  // namespace lazydp
