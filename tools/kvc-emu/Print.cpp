//===- Print.cpp - what kvc-emu says --------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Print.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace kvcemu;
using namespace kvc;
using llvm::StringRef;
using llvm::raw_ostream;

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void kvcemu::printKernels(const emu::Module &module, raw_ostream &os) {
  for (const emu::Kernel &kernel : module.getKernels()) {
    os << "kernel " << kernel.name << "\n  " << kernel.registers << " registers of 32 bits, "
       << kernel.staticShared << " bytes of shared variables, " << kernel.localBytes
       << " bytes of local memory, " << (kernel.usesDynamicShared ? "with" : "no")
       << " dynamic shared memory, at most " << kernel.maxThreads << " threads\n";
    for (const emu::Parameter &parameter : kernel.parameters)
      os << "  parameter " << parameter.name << ", " << parameter.size << " bytes at "
         << parameter.offset << "\n";
  }
}

void kvcemu::printInstructions(raw_ostream &os) {
  os << "| family | instructions |\n| --- | --- |\n";
  for (const emu::InstructionFamily &family : emu::getInstructionFamilies())
    os << "| " << family.name << " | `" << llvm::join(family.opcodes, "` `") << "` |\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void kvcemu::printReports(const std::vector<Run> &runs) {
  for (const Run &run : runs) {
    if (runs.size() > 1 && run.result.numReports)
      llvm::errs() << "policy " << run.policy.name << ":\n";
    uint64_t shown = 0;
    for (const emu::Report &report : run.result.reports) {
      llvm::errs() << report.print() << "\n";
      shown += report.count;
    }
    if (run.result.numReports > shown)
      llvm::errs() << run.result.numReports - shown << " more reports\n";
  }
}

namespace {
/// A line of the PTX and what was executed of it.
struct ProfileLine {
  emu::LineCount count;
  StringRef text;
};
} // namespace

/// The lines that were executed most, with their text.
static std::vector<ProfileLine> getProfile(const Job &job, const Run &run) {
  std::vector<ProfileLine> lines;
  for (const emu::LineCount &count : run.result.lines)
    lines.push_back({count, ""});
  llvm::stable_sort(lines, [](const ProfileLine &a, const ProfileLine &b) {
    return a.count.warpInstructions > b.count.warpInstructions;
  });
  lines.resize(std::min<size_t>(lines.size(), job.options->profileLines));
  llvm::SmallVector<StringRef> texts;
  StringRef(job.text).split(texts, '\n');
  for (ProfileLine &line : lines)
    if (line.count.line - 1 < texts.size())
      line.text = texts[line.count.line - 1].trim();
  return lines;
}

void kvcemu::printCounters(const Job &job, const Run &run, raw_ostream &os) {
  if (!job.options->quiet)
    os << run.result.counters.print();
  if (!job.options->profileLines)
    return;
  uint64_t total = std::max<uint64_t>(1, run.result.counters.getWarpInstructions());
  os << (job.options->quiet ? "" : "\n")
     << "   line  warp instructions   share  lanes  text\n";
  for (const ProfileLine &line : getProfile(job, run))
    os << llvm::format("%7u  %17llu  %4.1f %%  %5.1f  ", line.count.line,
                       (unsigned long long)line.count.warpInstructions,
                       100.0 * double(line.count.warpInstructions) / double(total),
                       double(line.count.threadInstructions) /
                           double(line.count.warpInstructions))
       << line.text.take_front(80) << "\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printReport(const emu::Report &report, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("kind", emu::getName(report.kind));
    json.attribute("line", report.line);
    json.attributeArray("block", [&] {
      for (uint32_t index : report.block)
        json.value(index);
    });
    json.attribute("warp", report.warp);
    json.attribute("lane", report.lane);
    json.attribute("address", report.address);
    json.attribute("count", report.count);
    json.attribute("message", report.message);
    json.attribute("instruction", report.instruction);
  });
}

static void printRun(const Job &job, const Run &run, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("policy", run.policy.name);
    json.attribute("finished", run.result.finished);
    json.attribute("num_reports", run.result.numReports);
    json.attributeArray("reports", [&] {
      for (const emu::Report &report : run.result.reports)
        printReport(report, json);
    });
    json.attributeBegin("counters");
    json.rawValue(run.result.counters.toJSON());
    json.attributeEnd();
    if (!job.options->profileLines)
      return;
    json.attributeArray("profile", [&] {
      for (const ProfileLine &line : getProfile(job, run))
        json.object([&] {
          json.attribute("line", line.count.line);
          json.attribute("warp_instructions", line.count.warpInstructions);
          json.attribute("thread_instructions", line.count.threadInstructions);
          json.attribute("text", llvm::json::fixUTF8(line.text));
        });
    });
  });
}

void kvcemu::printJSON(const Job &job, const std::vector<Run> &runs,
                       const std::vector<Complaint> &complaints, raw_ostream &os) {
  bool isRight = complaints.empty() && llvm::all_of(runs, [](const Run &run) {
                   return run.result.finished && run.result.numReports == 0;
                 });
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("file", llvm::json::fixUTF8(job.file));
    json.attribute("right", isRight);
    json.attributeArray("runs", [&] {
      for (const Run &run : runs)
        printRun(job, run, json);
    });
    json.attributeArray("complaints", [&] {
      for (const Complaint &complaint : complaints)
        json.object([&] {
          json.attribute("array", complaint.array);
          json.attribute("message", llvm::json::fixUTF8(complaint.message));
          json.attribute("differing", complaint.difference.count);
          json.attribute("first", complaint.difference.first);
          json.attribute("largest", complaint.difference.largest);
        });
    });
  });
  os << "\n";
}
