// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes of parity legs: P80x when something cannot be trusted, P81x when a rung says no.
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "P801", "a reference that cannot be trusted",
      "Missing, damaged, another file than was agreed (one byte is enough), prompts of another run, or unarmed: no digest says which\n"
      "file is meant. A comparison with the wrong reference proves nothing, and one with none is never green.",
      "Restore the file. When the change is meant, look at it, run 'lattice-gate parity freeze' and commit the lock.",
      "a reference file with one byte edited" },
    { "P802", "the engine crashed, hung, or wrote no whole output",
      "A crash, a time-out, exit status 0 without a file, a file cut short, other prompts than were asked for, or an output made before\n"
      "this run (it lacks the prompt that was drawn at random).",
      "Run the engine by hand with the arguments of 'engine'.", "engine: [sh, -c, \"exit 0\", ...]" },
    { "P803", "a value that is not finite", "NaN compares false with everything, so a check that forgets it lets everything through.",
      "Find the first layer that has it.", "logits with one NaN" },
    { "P804", "a reference too noisy to judge with",
      "The floor (Hugging Face's own distance from the truth) is above the ceiling, or too many greedy ids are ties: limits that are\n"
      "multiples of noise would let faults through.",
      "Use other prompts, or find out why the reference is so noisy.", "limits: {floor_max: 1e-9}" },
    { "P805", "the claimed path was not taken",
      "A run that is to test a kernel proves nothing when another one ran: metadata of the trace say another instruction set, or a\n"
      "counter is zero.",
      "Make the engine take the path, or correct 'proof'.", "proof: {isa: avx512}, on a machine without it" },
    { "P806", "live and frozen reference disagree",
      "The reference itself has moved, most often with a package; the engine is not to blame.",
      "Compare the versions that the finding names; freeze anew only when the change is understood.", "another version of transformers" },
    { "P807", "another model than the reference's, or pickled weights",
      "The digests of the model's files are not those that the reference was made from: the two speak of different models. Pickled\n"
      "files can hold code.",
      "Restore the model, or write the reference anew.", "a model.safetensors that was trained further" },
    { "P810", "other token ids", "P0: a text gives other ids than the reference's tokenizer gives; everything behind it would differ.",
      "Compare the tokenizer.", NULL },
    { "P811", "an emitted id is not the engine's own best",
      "P1: greedy decoding must emit the id with the largest of the engine's own logits, the lowest among equals. A penalty or a\n"
      "temperature left on changes the text and no logit.",
      "Look at the sampler.", "repetition penalty 1.3 left on" },
    { "P812", "farther from the truth than the reference", "P2: with the reference's ids forced, logits are more floors away than allowed.",
      "'lattice-gate parity bisect' narrows it down to a layer and an operator.", "attention scale x 1.05" },
    { "P813", "two paths through the same sums differ",
      "P3: prefill and decode, or chunks of another size, must give the same bits. Needs no reference; sees faults of caches,\n"
      "positions and masks.",
      "Look at the first tensor that differs.", "position + 1 in decode only" },
    { "P814", "a layer or operator is wrong", "P4: the first output, in the order of computation, that is too many floors from the truth.",
      "What goes into it is right: look at this operator.", "RMS epsilon 1e-3 in one layer" },
    { "P815", "a faster number type is too far off", "P5: mean KL or the share of equal best tokens against the first run.",
      "Look at the type's kernels.", NULL },
    { "P816", "a greedy id differs where the margin is wide",
      "P6: with the reference's ids before it, the engine's best id is another one.",
      "See P812 and P814.", NULL },
    { "P817", "the same run gives other bits", "P7: the same input again, or with other threads or kernels, must be byte-equal.",
      "Look for races, and for sums that are split by threads.", NULL },
};

const struct lat_gate_code_table lat_gate_codes_parity = { "parity", codes, sizeof codes / sizeof codes[0] };
