/* The compiler from plain C, linked to nothing but its shared library.
 *
 * RUN: %cc -std=c11 -Wall -Wextra -Werror -pedantic -I%kvc_include %s \
 * RUN:   -L%kvc_lib -lkvc_c -Wl,-rpath,%kvc_lib -o %t
 * RUN: %t | FileCheck %s
 */
#include "kvc-c/compiler.h"

#include <stdio.h>
#include <string.h>

static const char text[] =
    "func.func @same(%x: tensor<?x1x8xf32>) -> tensor<?x1x8xf32> {\n"
    "  return %x : tensor<?x1x8xf32>\n"
    "}\n";

int main(void) {
  kvc_compiled_t *compiled = NULL;
  kvc_compiler_t *compiler = kvc_compiler_create();
  kvc_status_t status;
  if (!compiler)
    return 1;
  // CHECK: kvc {{[0-9.]+}} (LLVM 22.{{.*}})
  puts(kvc_compiler_version());

  // No options: all defaults. The caller owns both tensors, so one cannot be
  // the other.
  status = kvc_compile(compiler, text, strlen(text), NULL, &compiled);
  // CHECK-NEXT: refused, no result
  puts(status != KVC_STATUS_OK && !compiled ? "refused, no result" : "compiled");
  // CHECK-NEXT: <input>:2:3: error: 'func.return' op expected results that the function computes, got an argument
  fputs(kvc_compiler_messages(compiler), stdout);

  kvc_compiled_release(compiled);
  kvc_compiler_release(compiler);
  return 0;
}
