# Every library the project links, found once. tools/packages.txt lists the Debian packages behind them.

# Those of the engine's libraries: users of these need them as well, so find_package(vig) finds them
# again (vigConfig.cmake.in).
set(vig_packages Threads fmt JPEG PNG TIFF ZLIB PkgConfig)
foreach(package IN LISTS vig_packages)
  find_package(${package} REQUIRED)
endforeach()
# By pkg-config, as PkgConfig::NAME.
set(vig_modules libhwy libwebp)
foreach(module IN LISTS vig_modules)
  pkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${module})
endforeach()

# Headers alone, which no installed header includes.
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(heif REQUIRED libheif)

if(VIG_TORCH)
  find_package(Torch REQUIRED)
endif()

if(VIG_ONNX)
  find_package(Protobuf REQUIRED)  # which ONNX's targets link
  find_package(ONNX REQUIRED)
endif()

if(VIG_SERVER)
  find_package(Boost 1.74 REQUIRED)  # headers alone
endif()

if(VIG_PYTHON)
  # Debian's own Python, unless another is named: the one of its NumPy.
  find_program(Python_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
  find_package(pybind11 2.10 REQUIRED CONFIG)
endif()

if(VIG_DEVELOPER)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
  find_package(OpenMP REQUIRED COMPONENTS CXX)  # to keep oneDNN to one thread
  find_package(dnnl REQUIRED)  # the baseline in bench/kernels/gemm_bench.cpp
endif()
