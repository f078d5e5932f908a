#include <libra/cuda/backend.hpp>

// Everything is linked; whether there is a device is another matter.
int main() {
  if (libra::cuda::device_count() == 0) {
    return 0;
  }
  libra::cuda::peer_group group(1);
  libra::cuda::peer_backend<float> parts(group, libra::rank_id(0));
  parts.synchronize();
  return 0;
}
