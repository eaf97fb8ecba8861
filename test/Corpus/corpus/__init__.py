"""Attention layers of real models, in the MLIR that an export of their PyTorch code gives."""

from .deepseek import DeepSeekV3
from .grouped import PyTorchLayer
from .llama import Llama

#: The layers, each a file of its name.
LAYERS = [PyTorchLayer, Llama, DeepSeekV3]
