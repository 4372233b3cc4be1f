// Releases of PyTorch whose own CUDA kernels (aten/src/ATen/native/cuda in the public repository) differ in their
// grids.
//
// A kernel is planned with the release that its context names: today's, unless the user names another (--torch), or a
// measured row another version (NeuSight's: 2.1 on NVIDIA, 2.4 on AMD).
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecast {

enum class TorchRelease : std::uint8_t { v2_1, v2_4, current };  // up to 2.3, to 2.6, and later

constexpr TorchRelease torch_release(int major, int minor) {
  constexpr int kSecond = 4, kCurrent = 7;
  if (major != 2) return major < 2 ? TorchRelease::v2_1 : TorchRelease::current;
  return minor < kSecond ? TorchRelease::v2_1 : minor < kCurrent ? TorchRelease::v2_4 : TorchRelease::current;
}

// Of a version as tables have it ("2.1.0", "2.11.0+cu130"); current where it is none.
constexpr TorchRelease torch_release(std::string_view version) {
  int parts[2] = {0, 0};
  for (int& part : parts) {
    if (version.empty() || version.front() < '0' || version.front() > '9') return TorchRelease::current;
    while (!version.empty() && version.front() >= '0' && version.front() <= '9' && part < 1000) {
      part = 10 * part + (version.front() - '0');
      version.remove_prefix(1);
    }
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return torch_release(parts[0], parts[1]);
}

}  // namespace tilecast
