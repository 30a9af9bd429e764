/* The best three classes of an image, from C:
 *   example_c_classify model.safetensors image.jpg
 */
#include <stdio.h>
#include <stdlib.h>
#include <vig/vig.h>

/* The bytes of a file; NULL where it cannot be read. */
static unsigned char *read_bytes(const char *path, size_t *size) {
  unsigned char *bytes = NULL;
  FILE *file = fopen(path, "rb");
  *size = 0;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long end = ftell(file);
    rewind(file);
    if (end > 0 && (bytes = malloc((size_t)end)) != NULL) {
      *size = fread(bytes, 1, (size_t)end, file);
    }
  }
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  size_t size, count, i;
  vig_model *model = NULL;
  vig_result *result = NULL;
  int status = 1;
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL IMAGE\n", argv[0]);
    return 2;
  }
  unsigned char *bytes = read_bytes(argv[2], &size);
  const vig_image image = vig_encoded(bytes, size);
  if (vig_open(argv[1], NULL, &model) != VIG_OK ||
      vig_classify(model, &image, 1, 3, &result) != VIG_OK) {
    fprintf(stderr, "%s\n", vig_last_error());
  } else if (vig_result_error(result, 0) != NULL) {
    fprintf(stderr, "%s: %s\n", argv[2], vig_result_error(result, 0));
  } else {
    const vig_class_score *scores = vig_result_scores(result, 0, &count);
    for (i = 0; i < count; ++i) {
      printf("%6.2f %%  %d  %s\n", 100.0 * scores[i].probability, scores[i].label,
             scores[i].name != NULL ? scores[i].name : "");
    }
    status = 0;
  }
  vig_free_result(result);
  vig_close(model);
  free(bytes);
  return status;
}
