"""Attention layers of real models, in the MLIR that an export of their PyTorch code gives."""

from .deepseek import DeepSeekV2Lite, DeepSeekV3
from .gemma import Gemma2
from .gpt_oss import GptOss
from .grouped import PyTorchLayer
from .llama import Llama
from .mistral import Mistral
from .qwen import Qwen2, Qwen3

#: The layers, each a file of its name.
LAYERS = [
    PyTorchLayer, Llama, Mistral, Qwen2, Qwen3, Gemma2, GptOss, DeepSeekV2Lite, DeepSeekV3,
]  # fmt: skip
