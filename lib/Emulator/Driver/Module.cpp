//===- Module.cpp - modules and their functions ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "Occupancy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Options of the compiler
//===----------------------------------------------------------------------===//

namespace {
/// A buffer that the caller gives for a log: a text of the given size, which is
/// replaced by the size of what was written.
struct Log {
  char *text = nullptr;
  size_t size = 0;
  void **outSize = nullptr;

  void write(const std::string &message) const {
    size_t length = 0;
    if (text && size) {
      length = std::min(message.size(), size - 1);
      std::memcpy(text, message.data(), length);
      text[length] = '\0';
      ++length;
    }
    if (outSize)
      *outSize = reinterpret_cast<void *>(length);
  }
};

struct Logs {
  Log info, error;
  void **wallTime = nullptr;
};
} // namespace

static Result readOptions(Logs &logs, uint32_t count, const JITOption *options,
                          void **values) {
  if (count && (!options || !values))
    return InvalidValue;
  for (uint32_t i = 0; i != count; ++i) {
    switch (options[i]) {
    case JITOption::InfoLog:
      logs.info.text = static_cast<char *>(values[i]);
      break;
    case JITOption::ErrorLog:
      logs.error.text = static_cast<char *>(values[i]);
      break;
    // Sizes are 32 bits, in the place of a pointer.
    case JITOption::InfoLogSize:
      logs.info.size = uint32_t(reinterpret_cast<uintptr_t>(values[i]));
      logs.info.outSize = &values[i];
      break;
    case JITOption::ErrorLogSize:
      logs.error.size = uint32_t(reinterpret_cast<uintptr_t>(values[i]));
      logs.error.outSize = &values[i];
      break;
    case JITOption::WallTime:
      logs.wallTime = &values[i];
      break;
    default:
      if (int32_t(options[i]) < 0 || int32_t(options[i]) >= kNumJITOptions)
        return InvalidValue;
    }
  }
  return Success;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The number after a directive, times ten with its fraction; 0 if there is
/// none. `.version 8.7` gives 87, `.target sm_90a` gives 90.
static int findNumber(const std::string &text, const char *directive,
                      bool fraction) {
  size_t at = text.find(directive);
  if (at == std::string::npos)
    return 0;
  at = text.find_first_of("0123456789", at);
  if (at == std::string::npos)
    return 0;
  char *end = nullptr;
  long number = std::strtol(text.c_str() + at, &end, 10);
  if (number > 1000)
    return 0;
  if (!fraction)
    return int(number);
  return int(number) * 10 +
         (end[0] == '.' && end[1] >= '0' && end[1] <= '9' ? end[1] - '0' : 0);
}

/// Says what is wrong with an image that is no text, or nothing.
static const char *findBinary(const char *image) {
  if (std::strncmp(image,
                   "\x7F"
                   "ELF",
                   4) == 0)
    return "expected PTX text, got a cubin; the emulator runs PTX only";
  if (std::strncmp(image, "\x50\xED\x55\xBA", 4) == 0)
    return "expected PTX text, got a fat binary; the emulator runs PTX only";
  return nullptr;
}

/// What the compiler would tell of the kernels.
static std::string describe(const Module &module) {
  std::string text;
  for (const Kernel &kernel : module.getKernels())
    text += "kernel '" + kernel.name +
            "': " + std::to_string(kernel.registers) + " registers, " +
            std::to_string(kernel.staticShared) + " bytes of shared memory, " +
            std::to_string(kernel.localBytes) + " bytes of local memory, " +
            std::to_string(kernel.parameterBytes) + " bytes of parameters\n";
  return text;
}

static Result loadText(Driver &driver, Context &context, ModuleHandle *handle,
                       const char *image, std::string &info,
                       std::string &error) {
  if (const char *message = findBinary(image)) {
    error = message;
    return NotSupported;
  }
  std::string text = image;
  int version = findNumber(text, ".version", true);
  if (version > 90) {
    error = "expected PTX of version 9.0 or older, got " +
            std::to_string(version / 10) + "." + std::to_string(version % 10);
    return UnsupportedPTXVersion;
  }
  int architecture = findNumber(text, ".target", false);
  if (architecture > 90) {
    error = "expected a target of sm_90 or older, got sm_" +
            std::to_string(architecture);
    return InvalidPTX;
  }
  auto module = std::make_unique<LoadedModule>();
  module->context = &context;
  module->architecture = architecture;
  module->code = Module::load(text, *driver.memory, error);
  if (!module->code)
    return InvalidPTX;
  error.clear();
  info = describe(*module->code);
  *handle = driver.modules.add(std::move(module));
  return Success;
}

Result cuda::cuModuleLoadDataEx(ModuleHandle *module, const void *image,
                                uint32_t numOptions, JITOption *options,
                                void **values) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    if (!module || !image)
      return InvalidValue;
    Logs logs;
    if (Result result = readOptions(logs, numOptions, options, values))
      return result;
    std::string info, error;
    Result result = loadText(driver, context, module,
                             static_cast<const char *>(image), info, error);
    logs.info.write(info);
    logs.error.write(error);
    // A float, in the place of a pointer; always zero, as times are virtual.
    if (logs.wallTime)
      *logs.wallTime = nullptr;
    return result;
  });
}

Result cuda::cuModuleLoadData(ModuleHandle *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

Result cuda::cuModuleLoad(ModuleHandle *module, const char *path) {
  std::string text;
  Result result = callInContext([&](Driver &, Context &) {
    if (!module || !path)
      return InvalidValue;
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return FileNotFound;
    text.assign(std::istreambuf_iterator<char>(file), {});
    return Success;
  });
  return result ? result : cuModuleLoadData(module, text.c_str());
}

Result cuda::cuModuleUnload(ModuleHandle module) {
  return callInContext([&](Driver &driver, Context &) {
    if (!driver.modules.find(module))
      return InvalidHandle;
    driver.functions.removeIf(
        [&](const Function &function) { return function.module == module; });
    driver.modules.remove(module);
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// What a module holds
//===----------------------------------------------------------------------===//

Result cuda::cuModuleGetFunction(FunctionHandle *function, ModuleHandle handle,
                                 const char *name) {
  return callInContext([&](Driver &driver, Context &) {
    if (!function || !name)
      return InvalidValue;
    LoadedModule *module = driver.modules.find(handle);
    if (!module)
      return InvalidHandle;
    const Kernel *kernel = module->code->findKernel(name);
    if (!kernel)
      return NotFound;
    auto [entry, isNew] = module->functions.try_emplace(kernel, nullptr);
    if (isNew) {
      auto object = std::make_unique<Function>();
      object->module = handle;
      object->owner = module;
      object->kernel = kernel;
      object->maxDynamicShared =
          kMaxStaticShared - std::min(kernel->staticShared, kMaxStaticShared);
      entry->second = driver.functions.add(std::move(object));
    }
    *function = entry->second;
    return Success;
  });
}

Result cuda::cuModuleGetFunctionCount(uint32_t *count, ModuleHandle handle) {
  return callInContext([&](Driver &driver, Context &) {
    if (!count)
      return InvalidValue;
    LoadedModule *module = driver.modules.find(handle);
    if (!module)
      return InvalidHandle;
    *count = uint32_t(module->code->getKernels().size());
    return Success;
  });
}

Result cuda::cuModuleGetGlobal_v2(DevicePointer *address, size_t *size,
                                  ModuleHandle handle, const char *name) {
  return callInContext([&](Driver &driver, Context &) {
    if (!name || (!address && !size))
      return InvalidValue;
    LoadedModule *module = driver.modules.find(handle);
    if (!module)
      return InvalidHandle;
    const Symbol *symbol = module->code->findSymbol(name);
    if (!symbol)
      return NotFound;
    if (address)
      *address = symbol->address;
    if (size)
      *size = symbol->size;
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Runs `body(function)` if there is such a function.
template <typename Body>
static Result callOnFunction(FunctionHandle handle, Body body) {
  return callInContext([&](Driver &driver, Context &) -> Result {
    Function *function = driver.functions.find(handle);
    return function ? body(*function) : InvalidHandle;
  });
}

Result cuda::cuFuncGetAttribute(int *value, FunctionAttribute attribute,
                                FunctionHandle handle) {
  return callOnFunction(handle, [&](const Function &function) {
    if (!value)
      return InvalidValue;
    const Kernel &kernel = *function.kernel;
    switch (attribute) {
    case FunctionAttribute::MaxThreads:
      *value = int(kernel.maxThreads);
      return Success;
    case FunctionAttribute::SharedBytes:
      *value = int(kernel.staticShared);
      return Success;
    case FunctionAttribute::LocalBytes:
      *value = int(kernel.localBytes);
      return Success;
    case FunctionAttribute::Registers:
      *value = int(getRegisters(kernel));
      return Success;
    case FunctionAttribute::PTXVersion:
      *value = function.owner->architecture;
      return Success;
    case FunctionAttribute::BinaryVersion:
      *value = 90;
      return Success;
    case FunctionAttribute::MaxDynamicShared:
      *value = int(function.maxDynamicShared);
      return Success;
    case FunctionAttribute::SharedCarveout:
      *value = function.carveout;
      return Success;
    case FunctionAttribute::ConstantBytes:
    case FunctionAttribute::CacheMode:
    case FunctionAttribute::ClusterMustBeSet:
    case FunctionAttribute::ClusterWidth:
    case FunctionAttribute::ClusterHeight:
    case FunctionAttribute::ClusterDepth:
    case FunctionAttribute::NonPortableCluster:
    case FunctionAttribute::ClusterPolicy:
      *value = 0;
      return Success;
    }
    return InvalidValue;
  });
}

Result cuda::cuFuncSetAttribute(FunctionHandle handle,
                                FunctionAttribute attribute, int value) {
  return callOnFunction(handle, [&](Function &function) {
    switch (attribute) {
    case FunctionAttribute::MaxDynamicShared:
      if (value < 0 ||
          uint64_t(value) + function.kernel->staticShared > kMaxShared)
        return InvalidValue;
      function.maxDynamicShared = uint32_t(value);
      return Success;
    case FunctionAttribute::SharedCarveout:
      if (value < -1 || value > 100)
        return InvalidValue;
      function.carveout = value;
      return Success;
    case FunctionAttribute::ClusterWidth:
    case FunctionAttribute::ClusterHeight:
    case FunctionAttribute::ClusterDepth:
    case FunctionAttribute::NonPortableCluster:
    case FunctionAttribute::ClusterPolicy:
      return NotSupported;
    default:
      return InvalidValue;
    }
  });
}

Result cuda::cuFuncSetCacheConfig(FunctionHandle handle, int config) {
  return callOnFunction(handle, [&](Function &) {
    return config < 0 || config > 3 ? InvalidValue : Success;
  });
}

Result cuda::cuFuncGetModule(ModuleHandle *module, FunctionHandle handle) {
  return callOnFunction(handle, [&](Function &function) {
    if (!module)
      return InvalidValue;
    *module = function.module;
    return Success;
  });
}

Result cuda::cuFuncGetName(const char **name, FunctionHandle handle) {
  return callOnFunction(handle, [&](Function &function) {
    if (!name)
      return InvalidValue;
    *name = function.kernel->name.c_str();
    return Success;
  });
}

Result cuda::cuFuncGetParamInfo(FunctionHandle handle, size_t index,
                                size_t *offset, size_t *size) {
  return callOnFunction(handle, [&](Function &function) {
    const std::vector<Parameter> &parameters = function.kernel->parameters;
    if (!offset || index >= parameters.size())
      return InvalidValue;
    *offset = parameters[index].offset;
    if (size)
      *size = parameters[index].size;
    return Success;
  });
}
