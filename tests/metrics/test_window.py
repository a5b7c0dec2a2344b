"""Windows: ratios of deltas, over several engines, through restarts, and unknown where nothing was counted."""

from pathlib import Path

from tui.metrics.scrape import EngineSample, Scrape, read
from tui.metrics.window import Window

CAPTURED = Path(__file__).parent / "captured"


def test_the_captured_ngram_run_reads_as_vllm_reported_it():
    idle = read((CAPTURED / "metrics-ngram-idle.txt").read_text(), 10.0)
    used = read((CAPTURED / "metrics-ngram-used.txt").read_text(), 12.0)
    window = Window.over([idle, used])
    # The answer's own metrics object said: 10 steps, 37 of 40 accepted, mean length 4.7, rate 0.925.
    assert window.acceptance_rate == 0.925
    assert window.mean_acceptance_length == 4.7
    assert window.per_position == (1.0, 0.9, 0.9, 0.9)
    assert window.output_tokens_per_s == 30.0
    assert window.tokens_per_step == 60 / 23
    assert (window.batch_size, window.batch_tokens) == (1.0, 182 / 23)  # one request at a time, 2 prompts
    assert (window.hit_rate, window.preemptions, window.restarts) == (0.0, 0, 0)


def test_without_queries_or_counters_ratios_are_unknown():
    still = Window.over([Scrape(0, (EngineSample("0", prefix_queries=9, prefix_hits=3),))] * 2)
    assert (still.prefix_queries, still.hit_rate) == (0, None)
    assert (still.spec_drafts, still.acceptance_rate, still.mean_acceptance_length) == (None, None, None)
    assert still.per_position == ()
    assert (still.output_tokens_per_s, still.tokens_per_step) == (None, None)
    assert Window.over([]) == Window() == Window.over([Scrape(5.0)])


def test_engines_are_summed_by_name():
    before = Scrape(0, (EngineSample("0", prompt_tokens=100), EngineSample("1", prompt_tokens=10)))
    after = Scrape(2, (EngineSample("0", prompt_tokens=150), EngineSample("1", prompt_tokens=40)))
    assert Window.over([before, after]).prompt_tokens == 80
    assert Window.over([before, after]).prompt_tokens_per_s == 40.0


def test_a_restart_counts_from_zero_and_never_below_it():
    def at(t: float, tokens: int, drafts: int, positions: tuple[int, ...]) -> Scrape:
        sample = EngineSample("0", generation_tokens=tokens, spec_drafts=drafts, spec_accepted_per_pos=positions)
        return Scrape(t, (sample,))

    window = Window.over([at(0, 100, 10, (8, 4)), at(1, 130, 12, (9, 4)), at(2, 7, 20, (1, 0)), at(3, 9, 22, (2, 0))])
    # tokens fell, so the engine's other counters began again as well, although drafts look larger
    assert window.generation_tokens == 30 + 7 + 2
    assert window.spec_drafts == 2 + 20 + 2
    assert window.spec_accepted_per_pos == (1 + 1 + 1, 0)
    assert window.restarts == 1


def test_a_restart_that_overtook_its_old_counters_is_seen_by_the_start_time():
    before = Scrape(0, (EngineSample("0", prompt_tokens=50),), started_at=1.0)
    after = Scrape(9, (EngineSample("0", prompt_tokens=80),), started_at=5.0)
    window = Window.over([before, after])
    assert (window.prompt_tokens, window.restarts) == (80, 1)
