// lazydp export onnx: says who writes ONNX graphs.

#include "lazydp/base/error.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {

void export_onnx(const FlagTexts& given) {
  throw UserError(
      "ONNX graphs are written by the Python package, through the package onnx: pip "
      "install 'lazydp[onnx]', then python -c \"import lazydp; lazydp.export_onnx('" +
      given.operands[0] + "', '" + given.operands[1] + "')\"");
}

}  // namespace lazydp::cli
