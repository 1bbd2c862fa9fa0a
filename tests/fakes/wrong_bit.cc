// Stands between the host device and the kernels of a program that is linked with --wrap for MatMulKernelsFor: in a product over several
// rows, the last bit of the second row's first output is wrong, as if sums over many rows were rounded in another way than sums over one.
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tessera/quant/matmul_kernels.h"

extern "C" const tessera::MatMulKernels& __real__ZN7tessera16MatMulKernelsForENS_10KernelPathE(tessera::KernelPath path);

namespace tessera {
namespace {

const MatMulKernels* right = nullptr;

template <size_t format>
void WrongPanels(const PanelJob& job) {
  right->panels[format](job);
  if (job.rows < 2 || job.panel_begin > 0) return;
  uint32_t bits;
  std::memcpy(&bits, job.y + job.y_stride, sizeof(bits));
  bits ^= 1;
  std::memcpy(job.y + job.y_stride, &bits, sizeof(bits));
}

}  // namespace
}  // namespace tessera

extern "C" const tessera::MatMulKernels& __wrap__ZN7tessera16MatMulKernelsForENS_10KernelPathE(tessera::KernelPath path) {
  using tessera::right, tessera::MatMulKernels;
  right = &__real__ZN7tessera16MatMulKernelsForENS_10KernelPathE(path);
  static MatMulKernels wrong;   // A program has one path, chosen before there are threads.
  wrong = *right;
  [&]<size_t... format>(std::index_sequence<format...>) {
    ((wrong.panels[format] = right->panels[format] == nullptr ? nullptr : tessera::WrongPanels<format>), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(wrong.panels)>>());
  return wrong;
}
