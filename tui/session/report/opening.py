"""Title and the three sentences at the top."""

import math

from tui.session.report import comparison, lab
from tui.session.report.closing import all_caveats
from tui.session.report.figures import number, ratio, seconds
from tui.session.report.markdown import code, escaped
from tui.session.report.material import Material, RunMaterial
from tui.session.result.targets import measured

# The ratios that the summary may speak of; of equal differences the first.
_METRICS = {
    "ttft_s.warm.p50": "TTFT p50 of the warm requests",
    "ttft_s.cold.p50": "TTFT p50 of the cold requests",
    "ttft_s.p50": "TTFT p50",
    "tpot_s.p50": "TPOT p50",
    "throughput.output_tokens_per_s": "output tokens/s",
}


def title(material: Material) -> str:
    return f"# vtune report: session {escaped(material.state.header.get('session', 'without a name'))}"


def summary(material: Material) -> str:
    return " ".join([_what(material), _difference(material), _ending(material)])


def _what(material: Material) -> str:
    state, engine = material.state, material.state.engine
    if engine is None:
        served = "no engine was started"
    else:
        told = dict.fromkeys(run.engine.vllm for run in material.runs if run.engine and run.engine.vllm)
        vllm = f"vLLM {' and '.join(map(escaped, told or (engine.vllm or 'of unknown version',)))}"
        device = f" ({escaped(engine.device)})" if engine.device else ""
        served = f"{code(engine.model or 'unknown model')} on {vllm}{device}"
    if not material.runs:
        return f"No run was made in this session: {served}."
    names = list(dict.fromkeys(str(run.record.recording.get("name")) for run in material.runs))
    runs = "1 run" if len(material.runs) == 1 else f"{len(material.runs)} runs"
    base = f"; run {state.baseline} is the baseline" if material.baseline else ""
    return f"{runs} of {', '.join(code(n) for n in names)} against {served}{base}."


def _difference(material: Material) -> str:
    if not material.runs:
        return "There is nothing to compare."
    if material.comparison is not None:
        found = material.comparison.get("lab")
        return lab.sentence(found) if found else comparison.sentence(material)
    found = [
        (abs(math.log(value)), -i, run, name, value)
        for run in material.runs
        for i, name in enumerate(_METRICS)
        if (value := material.ratios.get(run.number, {}).get(name))
    ]
    if not found:
        return "There is no second run to compare." if len(material.runs) == 1 else "No two runs can be compared."
    distance, _, run, name, value = max(found, key=lambda row: row[:2])
    if distance < math.log(1.02):
        return "No run differs from the baseline by more than 2 % in TTFT, TPOT or output tokens/s."
    same = "" if name.startswith("throughput") else " for the same requests"
    return (
        f"The largest difference to it is {_METRICS[name]} in run {run.number} ({escaped(run.record.label)}): "
        f"{ratio(value)} times the baseline's{same}{_own_value(run, name)}."
    )


def _own_value(run: RunMaterial, name: str) -> str:
    value = measured(name if name.count(".") > 1 else name.replace("ttft_s.", "ttft_s.all."), run.result)
    if value is None:
        return ""
    return f", {number(value)} tokens/s" if name.startswith("throughput") else f", {seconds(value)}"


def _ending(material: Material) -> str:
    sent = sum(run.result["requests"]["sent"] for run in material.runs)
    ok = sum(run.result["requests"]["ok"] for run in material.runs)
    many = len(all_caveats(material))
    caveats = "1 caveat" if many == 1 else f"{many} caveats" if many else "no caveats"
    return f"{ok} of {sent} requests succeeded; {caveats} at the end." if sent else f"No request was sent; {caveats}."
