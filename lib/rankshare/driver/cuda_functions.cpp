// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/cuda_functions.hpp>

#include <dlfcn.h>

#include <string>

#include <rankshare/base/error.hpp>

#if RANKSHARE_HAS_CUDA

namespace rankshare::detail {
namespace {

constexpr char doing[] = "loading the CUDA driver";
constexpr char remedy[] = "install an NVIDIA driver for CUDA 12.0 or later";

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <class Function>
Function symbol(void* library, char const* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

// What finds the functions: the one function that is asked for by its exported name.
class finder {
 public:
  finder(void* library, char const* path) : path_(path) {
    auto const get_version = symbol<PFN_cuDriverGetVersion_v2020>(library, "cuDriverGetVersion");
    if (get_version != nullptr) get_version(&version_);
    get_ = symbol<PFN_cuGetProcAddress_v12000>(library, "cuGetProcAddress_v2");
    if (get_ != nullptr) return;
    throw not_supported(std::string(doing) + ": " + path +
                            " has no cuGetProcAddress_v2, which is there since CUDA 12.0; it is " +
                            found() + "; " + remedy,
                        "dlsym");
  }

  template <class Function>
  void find(Function& function, char const* name, int since) const {
    void* address = nullptr;
    CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    auto const code = get_(name, &address, since, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &answer);
    if (code != CUDA_SUCCESS || answer != CU_GET_PROC_ADDRESS_SUCCESS || address == nullptr) {
      throw not_supported(std::string(doing) + ": " + path_ + " has no " + name +
                              ", which is there since CUDA " + version_text(since) + "; it is " +
                              found() + "; " + remedy,
                          "cuGetProcAddress");
    }
    function = reinterpret_cast<Function>(address);
  }

 private:
  std::string found() const {
    return version_ == 0 ? "of an unknown version" : "a driver for CUDA " + version_text(version_);
  }

  std::string path_;
  int version_ = 0;
  PFN_cuGetProcAddress_v12000 get_ = nullptr;
};

}  // namespace

cuda_functions cuda_functions::load(char const* library) {
  void* const opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    char const* const why = ::dlerror();
    throw not_supported(std::string(doing) + ": " + (why != nullptr ? why : library) + "; " +
                            remedy + ", or set RANKSHARE_DRIVER=host to use host memory",
                        "dlopen");
  }
  finder const lookup(opened, library);
  cuda_functions found{};
#define RANKSHARE_CUDA_FIND(name, version) lookup.find(found.name, "cu" #name, version);
  RANKSHARE_CUDA_FUNCTIONS(RANKSHARE_CUDA_FIND)
#undef RANKSHARE_CUDA_FIND
  return found;
}

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
