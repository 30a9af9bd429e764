// Says what an image shows, with the engine as a library:
//   example_classify WEIGHTS IMAGE
// WEIGHTS is a file made by `vig convert`, or a model that comes with vig: default.
#include <cstdio>

#include "vig/base/error.h"
#include "vig/pipeline/classifier.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s WEIGHTS IMAGE\n", argv[0]);
    return 2;
  }
  try {
    // Everything that can be wrong with the weights is thrown here.
    vig::ModelRequest request;
    request.model = argv[1];
    const vig::Classifier classifier(request);

    const vig::ImageFiles images({argv[2]});
    const vig::ClassifiedImage result = classifier.classify(images, /*top=*/3).front();
    if (!result.error.empty()) {
      std::fprintf(stderr, "%s\n", result.error.c_str());
      return 1;
    }
    for (const vig::ClassScore& score : result.prediction.scores) {
      std::printf("%6.2f %%  %3d  %s\n", 100 * score.probability, score.index, score.name.c_str());
    }
  } catch (const vig::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
