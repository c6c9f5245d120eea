// The extension lazydp._native: the noise engine and the accountants, on tensors' own memory, the
// encoder of values to be scored, and the conversion of tables to data files.

#include "lazydp/python/bindings.h"

#include "lazydp/base/error.h"

namespace lazydp {

// Every exception is also the built-in error that Python programs expect for it.
void bind_errors(nb::module_& module) {
  static nb::exception<UserError> user(module, "UserError", PyExc_ValueError);
  static nb::exception<PrivacyError> privacy(module, "PrivacyError", user);
  static nb::exception<IoError> io(module, "IoError", PyExc_OSError);
  static nb::exception<InternalError> internal(module, "InternalError", PyExc_RuntimeError);
}

}  // namespace lazydp

NB_MODULE(_native, module) {
  nanobind::set_leak_warnings(false);  // models that live to the end of the program are no leak
  lazydp::bind_errors(module);
  lazydp::bind_random(module);
  lazydp::bind_bags(module);
  lazydp::bind_tables(module);
  lazydp::bind_privacy(module);
  lazydp::bind_audit(module);
  lazydp::bind_serving(module);
  lazydp::bind_convert(module);
}
