#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""A folder of `lattice bench --shape ... -o FOLDER` as a GGUF file, by llama.cpp's own converter.

usage: to_gguf.py LLAMA_CPP_SOURCE FOLDER OUT.gguf

The folder has no tokenizer, so the file gets none either; all else is the converter's.
"""
import sys
from pathlib import Path


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, folder, out = sys.argv[1:]
    sys.path[:0] = [source, source + "/gguf-py"]
    import gguf
    import torch
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

    with torch.inference_mode():
        parameters = ModelBase.load_hparams(Path(folder), False)
        model = get_model_class(get_model_architecture(parameters, ModelType.TEXT), mmproj=False)

        def set_vocab(self):
            self._set_vocab_none()
            self.gguf_writer.add_vocab_size(self.find_hparam(["vocab_size"]))

        model.set_vocab = set_vocab
        model.no_mtp = True  # no head that predicts further tokens
        model(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, Path(out)).write()


if __name__ == "__main__":
    main()
