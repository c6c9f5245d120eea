// The noise kernels in plain C++: for every CPU, and the reference for the others.

#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/noise_paths.h"
#include "lazydp/kernels/simd_portable.h"

namespace lazydp {

const NoisePath kPortablePath = {
    "portable",
    [] { return true; },
    add_noise_body<PortableSimd>,
    fill_normals_body<PortableSimd>,
    fill_random_body<PortableSimd>,
};

}  // namespace lazydp
