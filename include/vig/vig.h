/* ViG from C: open a weight file, run it on images, read results.
 *
 *   vig_model *model = NULL;
 *   if (vig_open("model.safetensors", NULL, &model) != VIG_OK) puts(vig_last_error());
 *   vig_image image = vig_encoded(bytes, size);
 *   vig_result *result = NULL;
 *   if (vig_classify(model, &image, 1, 5, &result) == VIG_OK) { ... }
 *   vig_free_result(result);
 *   vig_close(model);
 *
 * Functions return VIG_OK or the kind of error; vig_last_error() then returns one sentence about
 * it, for the calling thread. No function throws, prints or ends the process. Any number of threads
 * may use a model at the same time: a few callers take turns on the model's thread pool; with at
 * least half as many callers as the pool has threads, each call runs in its own thread. Results
 * belong to the caller, and the memory that they point to is valid until vig_free_result.
 */
#ifndef VIG_VIG_H
#define VIG_VIG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VIG_API __attribute__((visibility("default")))
#else
#define VIG_API
#endif

/* The version of this interface. Do not use a library whose vig_abi_version() differs. */
#define VIG_ABI_VERSION 0
VIG_API int vig_abi_version(void);
/* The library's version, such as "0.1.0". */
VIG_API const char *vig_version(void);

typedef enum vig_status {
  VIG_OK = 0,
  VIG_BAD_INPUT = 1,     /* a file, an image or a model is invalid */
  VIG_BAD_USAGE = 2,     /* an invalid call */
  VIG_OUT_OF_MEMORY = 3, /* not enough memory */
  VIG_INTERNAL = 4       /* a bug in the library */
} vig_status;

/* One sentence about the last call of this thread that did not return VIG_OK; "" before that. It is
 * valid until the thread's next call. */
VIG_API const char *vig_last_error(void);

/* ---- models ---- */

typedef struct vig_model vig_model;

typedef enum vig_task { VIG_CLASSIFY = 0, VIG_SEGMENT = 1, VIG_DETECT = 2 } vig_task;

/* How a model is opened and run. Fill it with vig_default_options, then change fields: fields that
 * a later version adds have their defaults. Programs in other languages call vig_init_options with
 * the size of their struct. */
typedef struct vig_options {
  size_t struct_size;     /* set by vig_default_options */
  int threads;            /* 0: the processors that affinity and CPU quotas allow */
  int batch;              /* largest batch; 0: chosen by the input size */
  int size;               /* side of the network's input; 0: from the weight file */
  int64_t max_pixels;     /* images with more pixels are rejected */
  int ignore_orientation; /* 1: ignore the EXIF orientation */
  const char *arch;       /* model name, for a file that does not contain it; NULL: from the file */
  const char *precision;  /* of dense layers: "float32" (NULL) or "int8" */
  const char *float_layers; /* with int8: patterns of layers that stay float32, separated by commas;
                             * NULL: none besides those that always do */
} vig_options;
VIG_API void vig_init_options(vig_options *options, size_t struct_size);
static inline void vig_default_options(vig_options *options) {
  vig_init_options(options, sizeof(vig_options));
}

/* Opens a weight file (.safetensors, or a PyTorch checkpoint) or a model that comes with vig:
 * "default" (or ""), "segment", "detect"; write "./default" for a file of that name. `options` may
 * be NULL. */
VIG_API vig_status vig_open(const char *path, const vig_options *options, vig_model **model);
/* The same for the bytes of such a file, which must stay valid until vig_close. `name` appears in
 * messages. */
VIG_API vig_status vig_open_memory(const void *bytes, size_t size, const char *name,
                                   const vig_options *options, vig_model **model);
/* Does nothing for NULL. Results outlive their model. */
VIG_API void vig_close(vig_model *model);

VIG_API vig_task vig_model_task(const vig_model *model);
/* The architecture, such as "vig_t". */
VIG_API const char *vig_model_arch(const vig_model *model);
VIG_API size_t vig_class_count(const vig_model *model);
/* NULL if the classes have no names or there is no such class. */
VIG_API const char *vig_class_name(const vig_model *model, size_t label);

/* ---- images ---- */

/* The bytes of an image file in any format that vig reads, or pixels: then width and height are not
 * 0, and row y starts at data + y * stride and has width times the bytes R, G, B. */
typedef struct vig_image {
  const void *data;
  size_t size; /* bytes */
  int width;   /* of pixels; 0: data is a file */
  int height;
  size_t stride; /* bytes from row to row; 0: 3 * width */
} vig_image;

static inline vig_image vig_encoded(const void *data, size_t size) {
  vig_image image = {data, size, 0, 0, 0};
  return image;
}
static inline vig_image vig_pixels(const void *rgb, int width, int height, size_t stride) {
  const size_t row = stride != 0 ? stride : 3 * (size_t)width;
  vig_image image = {rgb, row * (size_t)height, width, height, stride};
  return image;
}

/* ---- results ---- */

typedef struct vig_result vig_result;

/* The number of images, as given to the call. */
VIG_API size_t vig_result_count(const vig_result *result);
/* Why image i has no result; NULL if it has one. An unreadable image does not affect the others. */
VIG_API const char *vig_result_error(const vig_result *result, size_t i);
/* Warning k, from 0, if a prediction of vig_segment or vig_detect may be worse than its scores
 * suggest: image i was shrunk much more than the training images, or has as many objects as the
 * model allows. NULL: no further warning. */
VIG_API const char *vig_result_warning(const vig_result *result, size_t i, size_t k);
VIG_API void vig_free_result(vig_result *result);

typedef struct vig_class_score {
  int label;
  const char *name; /* NULL if the classes have no names */
  float probability;
  float logit;
} vig_class_score;
/* The `top` most probable classes of each image. */
VIG_API vig_status vig_classify(const vig_model *model, const vig_image *images, size_t count,
                                int top, vig_result **result);
/* Classes of image i, the best first; NULL if it has no result. */
VIG_API const vig_class_score *vig_result_scores(const vig_result *result, size_t i, size_t *count);

/* A vector for each image, or with `map` one for every cell of the network's last grid. */
VIG_API vig_status vig_embed(const vig_model *model, const vig_image *images, size_t count, int map,
                             vig_result **result);
/* Values of image i [rows, columns, channels]; NULL if there are none. Results of vig_embed,
 * vig_evidence and vig_attention have values; the last two have one channel. Any of the three sizes
 * may be NULL. */
VIG_API const float *vig_result_values(const vig_result *result, size_t i, int *rows, int *columns,
                                       int *channels);

/* What each token of the last grid adds to a class: the mean of the values is the logit. `label` -1
 * is the best class of each image; `against` -1 is no other class. vig_result_scores then returns
 * the class, followed by the other one. */
VIG_API vig_status vig_evidence(const vig_model *model, const vig_image *images, size_t count,
                                int label, int against, vig_result **result);
/* What a layer takes from every token for the one at x, y, each from 0 to 1 over the network's
 * input. `layer` -1 is the last one, `head` -1 the mean of all heads. */
VIG_API vig_status vig_attention(const vig_model *model, const vig_image *images, size_t count,
                                 double x, double y, int layer, int head, vig_result **result);

/* A class for every pixel. */
VIG_API vig_status vig_segment(const vig_model *model, const vig_image *images, size_t count,
                               vig_result **result);
/* Labels of image i, row by row from the top; NULL if there are none. */
VIG_API const uint8_t *vig_result_labels(const vig_result *result, size_t i, int *width,
                                         int *height);

typedef struct vig_detection {
  float x1, y1, x2, y2; /* in pixels of the stored image */
  int label;
  const char *name; /* NULL if the classes have no names */
  float score;
  /* The mask over the whole image as run lengths, column by column: zeros, ones, zeros, ... */
  const uint32_t *runs;
  size_t run_count;
} vig_detection;
/* All objects above the model's minimum score, 0.05 unless its file has another one. */
VIG_API vig_status vig_detect(const vig_model *model, const vig_image *images, size_t count,
                              vig_result **result);
/* Objects of image i, the best first; NULL if there are none. */
VIG_API const vig_detection *vig_result_detections(const vig_result *result, size_t i,
                                                   size_t *count);

#ifdef __cplusplus
}
#endif

#endif /* VIG_VIG_H */
