/* Tilecast for C and for everything that calls C: the interface of libtilecast.so.
 *
 *   tilecast_text* answer = NULL;
 *   tilecast_error error;
 *   if (tilecast_ask("kernel", "{\"family\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": 4096, \"gpu\": \"H100-SXM\"}",
 *                    &answer, &error) != TILECAST_OK)
 *     return fprintf(stderr, "%s: %s (%s)\n", error.field, error.problem, error.remedy), 1;
 *   puts(tilecast_text_data(answer));
 *   tilecast_text_free(answer);
 *
 * Functions return TILECAST_OK, or explain the failure in `error`, which may be NULL; their outputs are then left
 * unchanged (the columns of tilecast_kernel_times may be partly filled). Texts are UTF-8 and end with a zero byte;
 * nothing passed in is kept. Handles belong to the caller of the function that made them and are released by the
 * matching ..._free function, which accepts NULL. Any number of threads may call anything, even with the same handles,
 * unless one of them frees it. No exception leaves the library.
 */
#ifndef TILECAST_ABI_H
#define TILECAST_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a function or a struct of this header changes its meaning. Functions may be added without raising it. */
#define TILECAST_ABI 1

#define TILECAST_API __attribute__((visibility("default")))

typedef enum tilecast_status {
  TILECAST_OK = 0,
  TILECAST_REFUSED = 1, /* something is wrong with the question */
  TILECAST_FAILED = 2   /* out of memory, or a bug in the library */
} tilecast_status;

/* What is wrong. Each part is truncated to its array; parts that do not apply are empty. */
typedef struct tilecast_error {
  char place[512];    /* the file or text it came from */
  char field[128];    /* the argument */
  char problem[2048]; /* what is wrong with it */
  char remedy[2048];  /* what to do */
} tilecast_error;

/* The version of the loaded library, "0.2.0". */
TILECAST_API const char* tilecast_version(void);
/* Fails if the library does not suit programs compiled with this header: pass TILECAST_ABI. */
TILECAST_API tilecast_status tilecast_check_abi(int abi, tilecast_error* error);

/* A text returned by the library. */
typedef struct tilecast_text tilecast_text;
TILECAST_API const char* tilecast_text_data(const tilecast_text* text);
TILECAST_API size_t tilecast_text_size(const tilecast_text* text);
TILECAST_API void tilecast_text_free(tilecast_text* text);

/* Asks the same as `tilecast QUESTION --json` ("kernel", "predict", "memory", "collective", "simulate", "plan serve",
 * "plan train", "diagnose", "retime", "tune fused-moe", "tune gemm", "calibrate", "gpus", "gpu", "models", "clusters")
 * and returns the same document (docs/json.md). `query` is a JSON object with the question's arguments by name
 * (docs/c.md). */
TILECAST_API tilecast_status tilecast_ask(const char* question, const char* query, tilecast_text** answer,
                                          tilecast_error* error);
/* The same for a JSON list of queries, on `threads` threads (0: all cores). The answer is a list in the same order, of
 * {"answer": document} or {"error": {"place", "field", "problem", "remedy"}}. */
TILECAST_API tilecast_status tilecast_ask_many(const char* question, const char* queries, int threads,
                                               tilecast_text** answers, tilecast_error* error);
/* All questions with their arguments, as JSON. */
TILECAST_API tilecast_status tilecast_questions(tilecast_text** answer, tilecast_error* error);

/* One dimension of many kernels: `rows` consecutive values. */
typedef struct tilecast_column {
  const char* name; /* "m" */
  const int64_t* values;
} tilecast_column;

/* Times of many kernels that differ only in whole-number dimensions. `query` names the rest: family, gpu, dtype, other
 * dimensions. Values are read in place, on `threads` threads (0: all cores). */
TILECAST_API tilecast_status tilecast_kernel_times(const char* query, const tilecast_column* columns,
                                                   size_t column_count, size_t rows, int threads, double* seconds,
                                                   tilecast_error* error);

/* Times of a sequence of an engine's steps (tilecast/step_predictor.h). `query` holds the arguments of "predict"
 * without the requests: model, gpu or cluster, engine, dtype, tp ... */
typedef struct tilecast_predictor tilecast_predictor;
TILECAST_API tilecast_status tilecast_predictor_new(const char* query, tilecast_predictor** predictor,
                                                    tilecast_error* error);
/* Seconds of the step that computes `prefills` prompts (fresh[i] new tokens after cached[i]) and one token of each of
 * `decodes` requests (decode_cached[i] tokens cached before). Threads that share a predictor take turns. */
TILECAST_API tilecast_status tilecast_predictor_step(tilecast_predictor* predictor, size_t prefills,
                                                     const int64_t* fresh, const int64_t* cached, size_t decodes,
                                                     const int64_t* decode_cached, double* seconds,
                                                     tilecast_error* error);
TILECAST_API void tilecast_predictor_free(tilecast_predictor* predictor);

#ifdef __cplusplus
}
#endif

#endif
