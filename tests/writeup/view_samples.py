"""Small invented views for the tests of what draws them."""

from writeup.evidence import Evidence
from writeup.views import (
    Ceiling,
    Code,
    Measured,
    Point,
    Role,
    Roof,
    RooflineBlock,
    Rung,
    StepsBlock,
    Tone,
    Verdict,
)

COMMIT = "3f" * 20
RESULT = f"results/{COMMIT}/index.html"


def evidence(text, value=None, *, form="time", at="softmax.wide/eager/host", label=""):
    return Evidence(form, (f"{COMMIT}/run/{at}",), text, (text,), value, None, label)


def measured(text, value, at="softmax.wide/eager/host"):
    band = evidence(f"{text} band 9", form="band", at=at)
    return Measured(evidence(text, value, at=at), band, value * 0.98, value * 1.03)


def href(page, found):
    depth = "../" * page.count("/")
    return f"{depth}{RESULT}#{found.at[0].partition('/')[2]}"


def roofline(variants=(("eager", Role.BASELINE, 1.4e9), ("fused", Role.STEP, 2.5e9))):
    return RooflineBlock(
        id="roofline",
        title="Roofline of softmax",
        summary=("Memory binds below ", evidence("8.4 FLOP/byte", 8.4, form="ridge")),
        reach="It should reach the slope.",
        ceilings=(
            Ceiling("DRAM copy", Roof.MEMORY, measured("6.2 GB/s", 6.2e9, "ceilings/dram"), "copy"),
            Ceiling("GEMM", Roof.COMPUTE, measured("52 GFLOP/s", 5.2e10, "ceilings/gemm"), "gemm"),
        ),
        points=tuple(
            Point(
                variant=name,
                name=Code(name),
                role=role,
                intensity=evidence("0.6", 0.6, form="intensity"),
                status=Verdict(Tone.OK, "ok"),
                rate=measured(f"{rate:.2e}", rate, f"softmax.wide/{name}/host"),
                matched=evidence("3.2 GFLOP/s", 3.2e9, form="ceiling", at="softmax.wide/copy/host"),
            )
            for name, role, rate in variants
        ),
        ridge=evidence("8.4 FLOP/byte", 8.4, form="ridge"),
    )


def ladder():
    times = (("eager", Role.BASELINE, 31e-3), ("fused", Role.STEP, 22e-3), ("odd", Role.ATTEMPT, 0))
    return StepsBlock(
        id="steps",
        title="Ladder",
        summary="Times of each step",
        baseline=Code("eager"),
        conditions="wide rows",
        rungs=tuple(
            Rung(
                variant=name,
                name=Code(name),
                role=role,
                idea="an idea",
                status=Verdict(Tone.OK, "ok") if time else Verdict(Tone.FAILED, "unsupported"),
                time=measured(f"{time * 1e3:.0f} ms", time) if time else None,
            )
            for name, role, time in times
        ),
    )
