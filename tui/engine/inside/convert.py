"""Turn the bundled GGUF into a checkpoint that vLLM loads, or cut a draft model out of that checkpoint.

    convert.py checkpoint FILE.gguf FOLDER
    convert.py draft CHECKPOINT FOLDER

Run by the engine's interpreter: needs its torch, transformers, gguf and accelerate. Python 3.9 syntax.
"""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

KEPT = 3  # layers from each end of the draft: enough to speak, too few to agree


def checkpoint(source: str, folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place, name = os.path.split(os.path.abspath(source))
    tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(
        place,
        gguf_file=name,
        quantization_config=GgufConfig(dequantize=True),  # a quantized model is refused by save_pretrained
        dtype=torch.bfloat16,
    )
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def draft(source: str, folder: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    layers = model.model.layers
    keep = [*range(KEPT), *range(len(layers) - KEPT, len(layers))]
    model.model.layers = torch.nn.ModuleList(layers[index] for index in keep)
    model.config.num_hidden_layers = len(keep)
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = [model.config.layer_types[index] for index in keep]
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    model.save_pretrained(folder)


if __name__ == "__main__":
    what, source, folder = sys.argv[1:]
    {"checkpoint": checkpoint, "draft": draft}[what](source, folder)
