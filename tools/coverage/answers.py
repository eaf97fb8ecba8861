"""What the compiler says of each cell of the coverage table."""

import re
import subprocess
from dataclasses import dataclass
from typing import Union

import kvc

DTYPES = ("bf16", "f16", "f32")
PHASES = ("decode", "prefill")

#: Passes that decide, and those that may refuse, by target. The tier does not
#: depend on the machine, since nothing is run with it.
DECISIONS = {
    "cpu": ["-kvc-assign-cache-layout", "-kvc-plan=target=cpu tier=avx512_bf16"],
    "gpu": ["-kvc-plan=target=gpu"],
}
LOWERINGS = {
    "cpu": [*DECISIONS["cpu"], "-convert-kvc-to-cpu=tier=avx512_bf16"],
    "definition": ["-kvc-to-definition-pipeline"],
}


@dataclass(frozen=True)
class Answer:
    """fast, generic or refused, and the compiler's words for the latter two."""

    kind: str
    why: Union[str, None] = None


@dataclass
class Remarked:
    """What kvc-opt gave for one module: text, or an error; and missed remarks."""

    text: str
    error: Union[str, None]
    missed: list


def ask_opt(program, texts, passes):
    """Runs passes over many modules in one process; returns a Remarked for each."""
    separator, starts, line = "// -----\n", [], 1
    # A module that fails leaves no text: names tell whose text is whose.
    modules = [re.sub(r"@(attend|merge)\b", f"@case_{i}_", t) for i, t in enumerate(texts)]
    for text in modules:
        starts.append(line)
        line += (text + separator).count("\n")
    done = subprocess.run(
        [program, "-", "-split-input-file", *passes, "-remarks-filter-missed=.*",
         "-remark-format=emitRemark"],
        input=separator.join(modules), text=True, capture_output=True,
    )  # fmt: skip
    answers = [Remarked("", None, []) for _ in modules]
    for text in done.stdout.split("// -----\n"):
        found = re.search(r"@(?:\"?)case_(\d+)_", text)
        if found:
            answers[int(found.group(1))].text = text
    pattern = re.compile(r"^<stdin>:(\d+):\d+: (error|remark): (.*)$", re.MULTILINE)
    for place, severity, message in pattern.findall(done.stderr):
        index = max(i for i, start in enumerate(starts) if start <= int(place))
        if severity == "error":
            answers[index].error = answers[index].error or message
        else:
            answers[index].missed.append(re.sub(r'^.*Reason="(.*)"$', r"\1", message))
    for index, answer in enumerate(answers):
        if not answer.text and not answer.error:
            raise RuntimeError(f"expected text or an error for module {index}:\n{done.stderr}")
    return answers


def ask_definition(program, texts):
    """Returns {phase: Answer} of each text: loops, whatever they compute."""
    answers = []
    for asked in ask_opt(program, texts, LOWERINGS["definition"]):
        answer = Answer("refused", asked.error) if asked.error else Answer("generic", None)
        answers.append(dict.fromkeys(PHASES, answer))
    return answers


def ask_cpu(program, texts):
    """Returns {phase: Answer} of each text: fast if no pass says what it missed."""
    answers = []
    for asked in ask_opt(program, texts, LOWERINGS["cpu"]):
        if asked.error:
            answer = Answer("refused", asked.error)
        elif asked.missed:
            answer = Answer("generic", without_names(asked.missed[0]))
        else:
            answer = Answer("fast")
        answers.append(dict.fromkeys(PHASES, answer))
    return answers


def without_names(reason):
    return re.sub(r"component '\w+'", "a component", reason)


def schedule_answer(asked, phase):
    """Returns how the GPU's schedule computes a phase; see #kvc.gpu_stream for the forms."""
    forms = re.findall(rf"\b{phase} = <form = (\w+)", asked.text)
    if "columns" in forms:
        return Answer("generic", f"the schedule has form = columns for {phase}")
    if asked.missed:
        return Answer("generic", without_names(asked.missed[0]))
    return Answer("fast")


class GPU:
    """Compiles for the GPU and, where that succeeds, runs both phases on the emulator."""

    def __init__(self, program):
        self.program = program
        self.compiler = kvc.Compiler()
        self.stream = kvc.Stream(device=kvc.Device("emulator"))

    def ask(self, features, dtype):
        """Returns {phase: Answer} of each feature; wrong numbers raise AssertionError."""
        texts = [feature.text(dtype) for feature in features]
        decided = ask_opt(self.program, texts, DECISIONS["gpu"])
        return [
            self._ask(feature, dtype, text, asked)
            for feature, text, asked in zip(features, texts, decided)
        ]

    def _ask(self, feature, dtype, text, asked):
        try:
            compiled = self.compiler.compile(text, target="gpu")
        except kvc.CompileError as error:
            return dict.fromkeys(PHASES, Answer("refused", first_error(error)))
        answers = {}
        for phase in PHASES:
            try:
                feature.run(compiled, dtype, phase, self.stream)
                answers[phase] = schedule_answer(asked, phase)
            except kvc.Error as error:
                if error.status != kvc.Status.UNSUPPORTED:
                    raise
                answers[phase] = Answer("refused", first_error(error))
        return answers


def first_error(error):
    """Returns the first error, without the place that it is about."""
    lines = str(error).splitlines()
    line = next((line for line in lines if "error: " in line), lines[0])
    line = re.sub(r"^.*?error: ", "", line)
    return re.sub(r"^function '\w+', argument \d+: ", "", line)
