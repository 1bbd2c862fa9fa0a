// Multiplies a matrix by a row with the reference operators.
#include <iostream>
#include <vector>

#include "tessera/tensor/reference_ops.h"

int main() {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6}, x = {1, 10, 100};
  std::vector<float> y(2);
  tessera::reference::MatMul({w.data(), 2, 3}, {x.data(), 1, 3}, {y.data(), 1, 2});
  std::cout << "tensor: W x = " << y[0] << " " << y[1] << "\n";
  return y == std::vector<float>{321, 654} ? 0 : 1;
}
