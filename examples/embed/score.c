/* Scores with a released model from C:
 *   score MODEL_FOLDER COLUMN=VALUE...     prints the probability of a positive label
 * A column without a value (COLUMN=) is missing. */

#include <lazydp/engine/served_model.h>
#include <stdio.h>
#include <string.h>

enum { most_columns = 64 };

int main(int count, char** words) {
  char error[256];
  const char* columns[most_columns];
  const char* values[most_columns];
  double score = 0.0;
  int given = count - 2;
  int code = 0;
  lazydp_model* model = NULL;

  if (given < 0 || given > most_columns) {
    fprintf(stderr, "usage: score MODEL_FOLDER COLUMN=VALUE...\n");
    return 2;
  }
  for (int i = 0; i < given; ++i) {
    char* equals = strchr(words[i + 2], '=');
    if (equals == NULL) {
      fprintf(stderr, "'%s' is not COLUMN=VALUE\n", words[i + 2]);
      return 2;
    }
    *equals = '\0';
    columns[i] = words[i + 2];
    values[i] = equals[1] == '\0' ? NULL : equals + 1;
  }
  model = lazydp_load(words[1], error, sizeof error);
  if (model == NULL) {
    fprintf(stderr, "%s\n", error);
    return 2;
  }
  code = lazydp_score(model, columns, (size_t)given, values, 1, &score, error, sizeof error);
  if (code == 0) {
    printf("%.9g\n", score);
  } else {
    fprintf(stderr, "%s\n", error);
  }
  lazydp_free(model);
  return code;
}
