//===- Extension.cpp - what only the emulated driver has ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc-emulator/driver.h"

#include "Driver.h"
#include "Options.h"

#include <algorithm>
#include <cstring>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

/// What the last call of this thread had to say.
static std::string &getMessage() {
  thread_local std::string message;
  return message;
}

/// Copies as much of `text` as fits, and returns how much there is.
static size_t copyOut(const std::string &text, char *buffer, size_t size) {
  if (buffer && size) {
    size_t length = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return text.size() + 1;
}

int kvc_emulator_set_options(const char *text) {
  Options options;
  getMessage().clear();
  if (text && !parseOptions(text, options, getMessage()))
    return 1;
  Driver &driver = getDriver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.options = text ? text : "";
  return 0;
}

const char *kvc_emulator_last_message(void) { return getMessage().c_str(); }

uint64_t kvc_emulator_num_reports(void) {
  Driver &driver = getDriver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.numReports;
}

size_t kvc_emulator_reports(char *buffer, size_t size) {
  Driver &driver = getDriver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  std::string text;
  for (const std::string &line : driver.reports)
    text += line + "\n";
  return copyOut(text, buffer, size);
}

size_t kvc_emulator_counters_json(char *buffer, size_t size) {
  Driver &driver = getDriver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return copyOut("{\"launches\": " + std::to_string(driver.numLaunches) +
                     ", \"counters\": " + driver.counters.toJSON() + "}",
                 buffer, size);
}

void kvc_emulator_clear(void) {
  Driver &driver = getDriver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.reports.clear();
  driver.numReports = 0;
  driver.numLaunches = 0;
  driver.counters = Counters();
}
