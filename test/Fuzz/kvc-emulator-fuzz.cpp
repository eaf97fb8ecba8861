//===- kvc-emulator-fuzz.cpp - runs changed PTX for a given time ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Mutator.h"
#include "Target.h"

#include <sanitizer/common_interface_defs.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <algorithm>
#include <iterator>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

using namespace kvcfuzz;

static const char kUsage[] =
    R"(usage: kvc-emulator-fuzz [OPTION...] FILE-OR-FOLDER...

Changes the given PTX files by chance, loads each result in the emulator, and
launches its kernels. Fails if the emulator crashes, hangs, has undefined
behaviour, takes too much memory or gives a message that is none. The text that did
it is left in a file. A folder stands for the .ptx files in it and below it.

  --seconds=N      how long (30)
  --runs=N         how many texts, instead
  --seed=N         where chance starts (1); the same texts come for the same seed
  --first=N        the first text to run, of those of the seed (0)
  --artifacts=DIR  folder for the text of a failure (.)
  --replay         run the given files as they are, 16 times each
  --print          write the first text to stdout and stop
  -h, --help       print this and stop

ends with 0 if nothing failed, 1 if something did, 2 if used wrongly
)";

/// Processor time of one text; a sound one takes a hundredth.
static constexpr int kMaxSeconds = 30;

/// Defaults of the sanitizers; ASAN_OPTIONS adds to them.
extern "C" const char *__asan_default_options() {
  return "handle_abort=1:quarantine_size_mb=64:hard_rss_limit_mb=2560:"
         "max_allocation_size_mb=1536:detect_stack_use_after_return=0:"
         "malloc_context_size=8";
}
extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1"; }

namespace {
struct Options {
  uint64_t seconds = 30, runs = 0, seed = 1, first = 0;
  std::string artifacts = ".";
  bool replay = false, print = false;
  std::vector<std::string> inputs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// What runs, for a failure's sake.
static std::string currentText, currentFile;

/// Only what may be called anywhere.
static void saveText() {
  int file = open(currentFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0)
    return;
  for (size_t done = 0; done < currentText.size();) {
    ssize_t count = write(file, currentText.data() + done, currentText.size() - done);
    if (count <= 0)
      break;
    done += size_t(count);
  }
  close(file);
  static const char message[] = "kvc-emulator-fuzz: error: the text is in ";
  (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
  (void)!write(STDERR_FILENO, currentFile.data(), currentFile.size());
  (void)!write(STDERR_FILENO, "\n", 1);
}

static void onTimeOut(int) {
  static const char message[] = "kvc-emulator-fuzz: error: a text takes too long\n";
  (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
  abort(); // prints where, and saves the text
}

static void startClock() {
  itimerval time = {};
  time.it_value.tv_sec = kMaxSeconds;
  setitimer(ITIMER_PROF, &time, nullptr);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static void collectFiles(const std::string &path, std::vector<std::string> &files) {
  DIR *folder = opendir(path.c_str());
  if (!folder) {
    files.push_back(path);
    return;
  }
  std::vector<std::string> names;
  while (dirent *entry = readdir(folder))
    names.push_back(entry->d_name);
  closedir(folder);
  std::sort(names.begin(), names.end()); // not as the file system has them
  for (const std::string &name : names) {
    std::string inner = path + "/" + name;
    struct stat status;
    bool isFolder = stat(inner.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (isFolder && name[0] != '.')
      collectFiles(inner, files);
    else if (name.size() > 4 && name.substr(name.size() - 4) == ".ptx")
      files.push_back(inner);
  }
}

static bool readFile(const std::string &path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  return bool(file);
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

static bool readNumber(const std::string &text, uint64_t &number) {
  char *end = nullptr;
  number = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' && text[0] != '-';
}

/// Returns false after a message if an argument is wrong.
static bool readOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    uint64_t *number = name == "--seconds" ? &options.seconds
                       : name == "--runs"  ? &options.runs
                       : name == "--seed"  ? &options.seed
                       : name == "--first" ? &options.first
                                           : nullptr;
    if (name == "-h" || name == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (number) {
      if (!readNumber(value, *number)) {
        std::fprintf(stderr, "kvc-emulator-fuzz: error: expected a number after %s, "
                             "got '%s'\n", name.c_str(), value.c_str());
        return false;
      }
    } else if (name == "--artifacts") {
      options.artifacts = value;
    } else if (argument == "--replay") {
      options.replay = true;
    } else if (argument == "--print") {
      options.print = true;
    } else if (argument[0] == '-') {
      std::fprintf(stderr, "kvc-emulator-fuzz: error: unknown argument '%s'; --help "
                           "lists what there is\n", argv[i]);
      return false;
    } else {
      options.inputs.push_back(argument);
    }
  }
  if (options.inputs.empty()) {
    std::fprintf(stderr, "kvc-emulator-fuzz: error: expected a file or folder\n");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void runOne(Target &target, std::string text, const std::string &name,
                   uint64_t seed, const Options &options) {
  currentText = std::move(text);
  currentFile = options.artifacts + "/" + name;
  startClock();
  Random random(seed);
  target.run(currentText, random);
}

int main(int argc, char **argv) {
  Options options;
  if (!readOptions(argc, argv, options))
    return 2;
  std::vector<std::string> files;
  for (const std::string &input : options.inputs)
    collectFiles(input, files);
  Mutator mutator;
  std::vector<std::string> texts;
  for (const std::string &file : files) {
    std::string text;
    if (!readFile(file, text)) {
      std::fprintf(stderr, "kvc-emulator-fuzz: error: cannot read '%s'\n", file.c_str());
      return 2;
    }
    texts.push_back(text);
    mutator.add(std::move(text));
  }
  auto textOf = [&](uint64_t number) {
    Random random(options.seed * 0x100000001B3 + number);
    return mutator.make(random);
  };
  if (options.print) {
    std::string text = textOf(options.first);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }

  __sanitizer_set_death_callback(saveText);
  std::signal(SIGPROF, onTimeOut);
  // Kernels may print.
  std::fflush(stdout);
  FILE *out = fdopen(dup(STDOUT_FILENO), "w");
  if (!out || !std::freopen("/dev/null", "w", stdout))
    return 2;

  auto target = std::make_unique<Target>();
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t count = 0;
  if (options.replay) {
    for (size_t i = 0; i < texts.size(); ++i)
      for (uint64_t k = 0; k < 16; ++k, ++count)
        runOne(*target, texts[i], "fuzz-replay.ptx", options.seed + k, options);
  } else {
    for (; options.runs ? count < options.runs : elapsed() < double(options.seconds);
         ++count) {
      uint64_t number = options.first + count;
      std::string name =
          "fuzz-" + std::to_string(options.seed) + "-" + std::to_string(number) + ".ptx";
      runOne(*target, textOf(number), name, number, options);
    }
  }
  itimerval none = {};
  setitimer(ITIMER_PROF, &none, nullptr);
  const Outcome &outcome = target->getOutcome();
  std::fprintf(out,
               "%llu texts from %zu files in %.0f s: %llu loaded, %llu refused; %llu "
               "launches, %llu finished, %llu with reports\n",
               (unsigned long long)count, files.size(), elapsed(),
               (unsigned long long)outcome.loaded, (unsigned long long)outcome.refused,
               (unsigned long long)outcome.launches, (unsigned long long)outcome.finished,
               (unsigned long long)outcome.reported);
  std::fclose(out);
  return 0;
}
