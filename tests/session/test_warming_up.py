"""While a run warms up: what those prompts do is shown where it is the engine's, and not as the run's."""

from made_session import whole

from tui.session import state, views


def test_hits_of_the_warm_up_are_none_of_the_run(tmp_path) -> None:
    told = state.load(whole(tmp_path / "session"))
    run = told.runs.pop(3) and told.runs[2]
    told.running, run.state = 2, "running"
    seen = views.snapshot(told, tmp_path, 0.0, None).metrics
    assert seen.prefix_run and any(value for _, value in seen.prefix_window) and seen.kv_usage
    run.state = "preparing"
    warming = views.snapshot(told, tmp_path, 0.0, None).metrics
    assert warming.prefix_run is None and not warming.prefix_window and warming.acceptance_rate is None
    assert warming.prefix_state == "on" and warming.kv_usage == seen.kv_usage
