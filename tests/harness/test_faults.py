"""What failures are called."""

import pytest

from harness.faults import VariantFailed, classify, exited, guarded, hung


class OutOfResources(Exception):
    """As triton's: numbers beside a name."""

    def __init__(self):
        super().__init__("out of resource: shared memory")
        self.required, self.limit, self.name = 262144, 232448, "shared memory"


class CompilationError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("x"), "runtime_error"),
        (MemoryError(), "out_of_resources"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: not enough"), "out_of_resources"),
        (OutOfResources(), "out_of_resources"),
        (CompilationError("at 3:4"), "compile_error"),
        (NotImplementedError("no CPU kernel"), "unsupported"),
        (SystemExit(3), "runtime_error"),
    ],
)
def test_an_exception_gets_the_status_that_it_deserves(error, status):
    assert classify(error).status == status


def test_numbers_that_explain_a_resource_failure_are_kept():
    reason = classify(OutOfResources()).reason
    assert reason["required"] == {"value": 262144, "unit": "byte"}
    assert reason["limit"] == {"value": 232448, "unit": "byte"}


def test_a_reason_is_one_short_line():
    text = classify(ValueError("\n  first\nsecond " + "x" * 5000)).reason["text"]
    assert text == "ValueError: first"


def test_figures_stand_in_fields_and_in_the_log_and_never_in_prose():
    reason = classify(RuntimeError("tried to allocate 2.00 GiB of float32, 7,340 left")).reason
    assert reason["text"] == "RuntimeError: tried to allocate … GiB of float32, … left"
    assert "2.00 GiB" in reason["log"]
    reason = classify(OutOfResources()).reason
    assert reason["text"] == "asks for more shared memory than there is"


def test_an_exit_inside_a_call_is_the_variants_failure():
    def leaves():
        raise SystemExit(2)

    with pytest.raises(VariantFailed) as caught:
        guarded(leaves, ())
    assert isinstance(caught.value.__cause__, SystemExit)


def test_an_interrupt_is_nobodys_failure():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted, ())


def test_a_killed_process_is_told_by_its_signal():
    assert "SIGSEGV" in exited(-11).reason["text"]
    assert exited(3).reason["log"] == "exit status 3"


def test_a_timeout_says_its_limit():
    assert hung(2.0).reason["limit"] == {"value": 2.0, "unit": "s"}


def test_an_assembler_that_fails_is_a_compile_error_with_what_it_said():
    class PTXASError(Exception):
        pass

    said = (
        "PTXAS error: `ptxas` failed with error code 255\n`ptxas` stderr:\nToo many registers\x00\n"
    )
    fault = classify(PTXASError(said))
    assert fault.status == "compile_error"
    assert fault.reason["text"] == "PTXASError: PTXAS error: `ptxas` failed with error code …"
    assert "error code 255" in fault.reason["log"]
    assert "Too many registers" in fault.reason["log"]
    assert "\x00" not in fault.reason["log"]
