#include "check.h"
#include "matmul.h"

namespace {

constexpr std::size_t kWorkspaceBytes = 32u << 20;  // PyTorch's on compute capability 9.0

struct Types {
  cudaDataType in, out;
  cublasComputeType_t compute;
};

Types types_of(Number type) {
  switch (type) {
    case Number::bf16: return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case Number::fp16: return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case Number::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case Number::int8: return {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    default: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

std::optional<const char*> problem_of(cublasStatus_t answer) {
  if (answer == CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return cublasGetStatusString(answer);
}

}  // namespace

struct Matmul::Fp8Plan {
  Size size{};
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};
  cublasStatus_t answer = CUBLAS_STATUS_SUCCESS;

  Fp8Plan(cublasLtHandle_t light, const Size& s, const float* scales) : size(s) {
    must(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "fp8 product");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales);
    const auto k = static_cast<std::uint64_t>(s.k), n = static_cast<std::uint64_t>(s.n),
               m = static_cast<std::uint64_t>(s.m);
    must(cublasLtMatrixLayoutCreate(&w, CUDA_R_8F_E4M3, k, n, s.k), "fp8 layout");
    must(cublasLtMatrixLayoutCreate(&x, CUDA_R_8F_E4M3, k, m, s.k), "fp8 layout");
    must(cublasLtMatrixLayoutCreate(&y, CUDA_R_16BF, n, m, s.n), "fp8 layout");
    cublasLtMatmulPreference_t preference = nullptr;
    must(cublasLtMatmulPreferenceCreate(&preference), "fp8 preference");
    must(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                              sizeof kWorkspaceBytes),
         "fp8 preference");
    int found = 0;
    answer = cublasLtMatmulAlgoGetHeuristic(light, operation, w, x, y, y, preference, 1, &choice, &found);
    if (answer == CUBLAS_STATUS_SUCCESS && found == 0) answer = CUBLAS_STATUS_NOT_SUPPORTED;
    cublasLtMatmulPreferenceDestroy(preference);
  }
  ~Fp8Plan() {
    for (cublasLtMatrixLayout_t layout : {w, x, y}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, const T& value) {
    must(cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value), "fp8 attribute");
  }
};

Matmul::Matmul(cudaStream_t stream) : stream_(stream) {
  must(cublasCreate(&blas_), "cuBLAS");
  must(cublasLtCreate(&light_), "cuBLASLt");
  must(cudaMalloc(&workspace_, kWorkspaceBytes), "workspace");
  must(cudaMalloc(&scales_, sizeof(float)), "scale");
  const float one = 1.0f;
  must(cudaMemcpy(scales_, &one, sizeof one, cudaMemcpyHostToDevice), "scale");
  must(cublasSetStream(blas_, stream_), "cuBLAS");
  must(cublasSetWorkspace(blas_, workspace_, kWorkspaceBytes), "cuBLAS");
}

Matmul::~Matmul() {
  fp8_.reset();
  cublasDestroy(blas_);
  cublasLtDestroy(light_);
  cudaFree(workspace_);
  cudaFree(scales_);
}

std::optional<const char*> Matmul::run(Number type, const Size& size, const void* x, const void* w, void* y) {
  if (type == Number::fp8) return run_fp8(size, x, w, y);
  const Types types = types_of(type);
  const float one = 1, zero = 0;
  const int one_int = 1, zero_int = 0;
  const bool whole = type == Number::int8;
  const void *alpha = whole ? static_cast<const void*>(&one_int) : &one,
             *beta = whole ? static_cast<const void*>(&zero_int) : &zero;
  const auto m = static_cast<int>(size.m), n = static_cast<int>(size.n), k = static_cast<int>(size.k);
  // cuBLAS counts columns first: it sees yᵀ = w · xᵀ.
  if (size.batch == 1)
    return problem_of(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, alpha, w, types.in, k, x, types.in, k,
                                   beta, y, types.out, n, types.compute, CUBLAS_GEMM_DEFAULT));
  return problem_of(cublasGemmStridedBatchedEx(
      blas_, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, alpha, w, types.in, n, size.k * size.n, x, types.in, k, size.m * size.k,
      beta, y, types.out, n, size.m * size.n, static_cast<int>(size.batch), types.compute, CUBLAS_GEMM_DEFAULT));
}

std::optional<const char*> Matmul::run_fp8(const Size& size, const void* x, const void* w, void* y) {
  if (fp8_ == nullptr || fp8_->size.m != size.m || fp8_->size.n != size.n || fp8_->size.k != size.k)
    fp8_ = std::make_unique<Fp8Plan>(light_, size, scales_);
  if (fp8_->answer != CUBLAS_STATUS_SUCCESS) return problem_of(fp8_->answer);
  const float one = 1, zero = 0;
  return problem_of(cublasLtMatmul(light_, fp8_->operation, &one, w, fp8_->w, x, fp8_->x, &zero, y, fp8_->y, y, fp8_->y,
                                   &fp8_->choice.algo, workspace_, kWorkspaceBytes, stream_));
}
