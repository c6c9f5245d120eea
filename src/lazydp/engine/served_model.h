#pragma once
/* Scores with a released model: three functions for programs in C, or in whatever can call C. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A released model in memory. Several threads may score with it at once. */
typedef struct lazydp_model lazydp_model; /* NOLINT(*-naming,modernize-use-using) */

/* Opens the model in a folder: card.json and model.safetensors, as lazydp release writes them.
 * Returns NULL if it cannot, or if one of the files was edited since, and writes why, cut to
 * `error_size` bytes with the NUL at their end, to `error`. */
lazydp_model* lazydp_load(const char* folder, char* error, size_t error_size);

/* Writes the probability of a positive label for each example to `scores`.
 *
 * `columns` has the names of `column_count` columns, in any order; all that the model reads must be
 * among them. `values` has the texts of the first example in that order, then those of the second:
 * as a log would have them (a multi column's values between its separators), in UTF-8 or whatever
 * the log was in; NULL is a missing value.
 *
 * Returns 0; or 2 if the columns or a value cannot be used, 70 for an error of ours, and writes why
 * to `error`: no score is then written. */
int lazydp_score(lazydp_model* model, const char* const* columns, size_t column_count,
                 const char* const* values, size_t example_count, double* scores, char* error,
                 size_t error_size);

/* Frees the model; NULL is allowed. */
void lazydp_free(lazydp_model* model);

#ifdef __cplusplus
}
#endif
