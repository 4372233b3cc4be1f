/* Tilecast from C: a question as JSON, many products in columns, and a sequence of an engine's steps.
 *
 *   cc -std=c11 interface.c -ltilecast -o interface
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tilecast/tilecast.h>

static int failed(const tilecast_error* error) {
  fprintf(stderr, "%s%s%s: %s (%s)\n", error->place, error->place[0] ? ": " : "", error->field, error->problem,
          error->remedy);
  return 1;
}

static int one_kernel(void) {
  tilecast_error error;
  tilecast_text* answer = NULL;
  const char* query = "{\"family\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": 4096, \"gpu\": \"H100-SXM\"}";
  if (tilecast_ask("kernel", query, &answer, &error) != TILECAST_OK) return failed(&error);
  printf("%zu bytes of JSON, %s\n", tilecast_text_size(answer),
         strstr(tilecast_text_data(answer), "\"limited_by\": \"tensor\"") ? "limited by the tensor pipes" : "limited otherwise");
  tilecast_text_free(answer);
  return 0;
}

static int many_kernels(void) {
  enum { rows = 5 };
  const int64_t m[rows] = {1, 16, 256, 4096, 65536};
  const tilecast_column columns[] = {{"m", m}};
  double seconds[rows];
  tilecast_error error;
  const char* query = "{\"family\": \"gemm\", \"n\": 4096, \"k\": 4096, \"gpu\": \"H100-SXM\"}";
  if (tilecast_kernel_times(query, columns, 1, rows, 0, seconds, &error) != TILECAST_OK) return failed(&error);
  for (int i = 0; i < rows; ++i) printf("m %" PRId64 ": %.1f us\n", m[i], seconds[i] * 1e6);
  return 0;
}

static int steps(void) {
  tilecast_error error;
  tilecast_predictor* predictor = NULL;
  if (tilecast_predictor_new("{\"model\": \"Llama-3.1-8B\", \"gpu\": \"H100-SXM\"}", &predictor, &error) != TILECAST_OK)
    return failed(&error);
  const int64_t fresh = 512, before = 0;
  int64_t cached[32];
  for (int i = 0; i < 32; ++i) cached[i] = 1024 + 32 * i;
  double seconds = 0;
  const tilecast_status status = tilecast_predictor_step(predictor, 1, &fresh, &before, 32, cached, &seconds, &error);
  tilecast_predictor_free(predictor);
  if (status != TILECAST_OK) return failed(&error);
  printf("a step with 32 answers and a prompt of 512 tokens: %.2f ms\n", seconds * 1e3);
  return 0;
}

static int refusal(void) {
  tilecast_error error;
  tilecast_text* answer = NULL;
  if (tilecast_ask("kernel", "{\"family\": \"gemm\", \"m\": 1, \"n\": 1, \"k\": 1, \"gpu\": \"H100-SMX\"}", &answer, &error) !=
      TILECAST_REFUSED)
    return 1;
  printf("refused: %s\n", error.remedy);
  return answer != NULL;
}

int main(void) {
  tilecast_error error;
  if (tilecast_check_abi(TILECAST_ABI, &error) != TILECAST_OK) return failed(&error);
  printf("Tilecast %s\n", tilecast_version());
  return one_kernel() || many_kernels() || steps() || refusal();
}
