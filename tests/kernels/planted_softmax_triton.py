"""Judges variants on cases in Triton's interpreter; a process of its own.

Called with pairs `variant:case`. Says for each how many elements lie beyond the tolerance.
"""

from __future__ import annotations

import sys

import torch

from kernels.softmax_triton.experiment import experiment


def beyond(variant, case):
    """How many elements of the variant's answer lie further from the oracle than allowed."""
    (x,) = case.make_inputs(case, torch.Generator().manual_seed(11), torch.device("cpu"))
    expected = experiment.oracle(x.double()).to(x.dtype)
    got = variant.function(x)
    within = (got - expected).abs() <= case.tolerance.atol + case.tolerance.rtol * expected.abs()
    return int((~within).sum())


def main():
    # Fresh memory is NaN in this mode, so that an element nobody wrote is seen.
    torch.use_deterministic_algorithms(True)
    for pair in sys.argv[1:]:
        variant, case = pair.split(":")
        count = beyond(experiment.variant(variant), experiment.case(case))
        print(count)  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
