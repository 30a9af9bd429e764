# Every library the project links, found once. tools/packages.txt lists the Debian packages behind them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(TIFF REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(heif REQUIRED libheif)

if(VIG_TORCH)
  find_package(Torch REQUIRED)
endif()

if(VIG_DEVELOPER)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
  find_package(OpenMP REQUIRED COMPONENTS CXX)  # to keep oneDNN to one thread
  find_package(dnnl REQUIRED)  # the rival in bench/kernels/gemm_bench.cpp
endif()
