/* Reads questions from standard input, one line "QUESTION<tab>QUERY" each, and prints the answers' documents, each
 * followed by a form feed; for a rejected question it prints nothing, and the reason on standard error.
 *
 *   printf 'kernel\t{"family": "gemm", "m": 64, "n": 64, "k": 64, "gpu": "H100-SXM"}\n' | ask
 */
#include <stdio.h>
#include <string.h>
#include <tilecast/tilecast.h>

int main(void) {
  static char line[1 << 20];
  tilecast_error error;
  if (tilecast_check_abi(TILECAST_ABI, &error) != TILECAST_OK) return fprintf(stderr, "%s\n", error.problem), 1;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    char* query = strchr(line, '\t');
    if (!query) return fprintf(stderr, "a line has no tab: %s\n", line), 1;
    *query++ = '\0';
    tilecast_text* answer = NULL;
    if (tilecast_ask(line, query, &answer, &error) == TILECAST_OK)
      fputs(tilecast_text_data(answer), stdout);
    else
      fprintf(stderr, "%s: %s (%s)\n", error.field, error.problem, error.remedy);
    putchar('\f');
    tilecast_text_free(answer);
  }
  return 0;
}
