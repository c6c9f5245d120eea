#pragma once
// The compiled instruction sets, for noise.cc to choose from.

#include "lazydp/kernels/noise.h"

namespace lazydp {

extern const NoisePath kPortablePath;
#if defined(__x86_64__)
extern const NoisePath kAesniPath;
extern const NoisePath kVaesPath;
extern const NoisePath kAvx512Path;
#endif

}  // namespace lazydp
