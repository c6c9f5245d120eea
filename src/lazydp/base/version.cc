#include "lazydp/base/version.h"

namespace lazydp {

const char* version() {
  return LAZYDP_VERSION;
}

}  // namespace lazydp
