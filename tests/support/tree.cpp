#include "support/tree.h"

namespace vig::test {

const char* const kSourceDir = VIG_SOURCE_DIR;
const char* const kFixtures = VIG_SOURCE_DIR "/tests/fixtures";
const char* const kBuildDir = VIG_BUILD_DIR;
const char* const kCMake = VIG_CMAKE;
const char* const kVig = VIG_BUILD_DIR "/bin/vig";
const char* const kVigTrain = VIG_BUILD_DIR "/bin/vig-train";
const char* const kSharedLibrary = VIG_SHARED_LIBRARY;
const char* const kFaultsLibrary = VIG_FAULTS_LIBRARY;
const char* const kSignalLibrary = VIG_SIGNAL_LIBRARY;

}  // namespace vig::test
