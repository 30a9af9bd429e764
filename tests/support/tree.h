// Where the tree, its data and its programs are. tree.cpp alone is compiled with these paths, so
// that a compiler cache serves every clone.
#pragma once

namespace vig::test {

extern const char* const kSourceDir;
extern const char* const kFixtures;  // tests/fixtures
extern const char* const kBuildDir;
extern const char* const kCMake;
extern const char* const kVig;  // the programs; those that were not built are not there
extern const char* const kVigTrain;
extern const char* const kSharedLibrary;  // libvig
extern const char* const kFaultsLibrary;  // to be preloaded: tests/faults/inject.cpp
extern const char* const kSignalLibrary;  // likewise: tests/support/preload/signal_at.cpp

}  // namespace vig::test
