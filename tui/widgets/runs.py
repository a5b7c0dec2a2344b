"""Every replay as a row, and how the one under the cursor compares to the baseline."""

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from tui.session.snapshot import RunView, Snapshot
from tui.widgets import figures
from tui.widgets.engine_state import serves
from tui.widgets.key_names import key
from tui.widgets.next_step import NextStep
from tui.widgets.panel import words
from tui.widgets.plain import plain, shortened
from tui.widgets.run_columns import COLUMNS, Column, fitting
from tui.widgets.run_detail import RunDetail
from tui.widgets.run_targets import targets

_RATIOS = (
    ("ttft_s.cold.p50", "TTFT cold p50"),
    ("ttft_s.warm.p50", "TTFT warm p50"),
    ("tpot_s.p50", "TPOT p50"),
    ("throughput.output_tokens_per_s", "tok/s"),
)


class Runs(Vertical):
    """The table and one or two lines under it."""

    TELLS = "A row a replay, p50 / p95; ★ is the baseline. few: too few samples for a p95. –: not measured."

    def __init__(self, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.border_title = "Runs"
        self._runs: tuple[RunView, ...] = ()
        self._serves = False
        self._columns: tuple[Column, ...] = ()

    def compose(self) -> ComposeResult:
        yield DataTable(id="run-table", cursor_type="row", zebra_stripes=False, cell_padding=1)
        yield RunDetail(id="run-detail")
        yield NextStep(id="next-step")

    def show(self, snapshot: Snapshot) -> None:
        self.query_one(NextStep).tell(snapshot.next_step)
        if snapshot.runs != self._runs or serves(snapshot) != self._serves:
            fresh = len(snapshot.runs) > len(self._runs)
            self._runs, self._serves = snapshot.runs, serves(snapshot)
            self._fill(self._columns, last=fresh)

    def focus(self, scroll_visible: bool = True) -> "Runs":
        self.query_one(DataTable).focus(scroll_visible)
        return self

    @property
    def selected(self) -> RunView | None:
        """The run under the cursor."""
        row = self.query_one(DataTable).cursor_row
        return self._runs[row] if 0 <= row < len(self._runs) else None

    def on_resize(self) -> None:
        columns = fitting(self.query_one(DataTable).size.width)
        if columns != self._columns:
            self._fill(columns, last=False)

    def _fill(self, columns: tuple[Column, ...], last: bool) -> None:
        table = self.query_one(DataTable)
        row = len(self._runs) - 1 if last else table.cursor_row
        if columns != self._columns or not table.columns:
            self._columns = columns
            table.clear(columns=True)
            for column in columns:
                justify = "right" if column.right else "left"
                table.add_column(Text(column.label, justify=justify), key=column.key, width=column.width)
        else:
            table.clear()
        for run in self._runs:
            style = "bold" if run.baseline else ""
            table.add_row(*(_cell(column, run, style) for column in columns), key=str(run.number))
        if self._runs and columns:
            table.cursor_coordinate = Coordinate(max(0, min(row, len(self._runs) - 1)), 0)
        self._detail()

    @on(DataTable.RowHighlighted)
    def _detail(self) -> None:
        run = self.selected
        detail = self.query_one(RunDetail)
        if run is None:
            replays = f" · {key('replay')} replays the recording" if self._serves else ""
            detail.tell("", [words((f"no run yet{replays}", "$dim"))], [])
            return
        hidden = [column for column in COLUMNS if column.key not in {shown.key for shown in self._columns}]
        parts = [words((f"{column.label} ", "$dim"), column.cell(run)) for column in hidden]
        verdict = plain(run.verdict, 300) if run.verdict else ""
        detail.tell(verdict, [*_ratios(run), *targets(run)], parts if self.size.width < 100 else [])


def _cell(column: Column, run: RunView, style: str) -> Text:
    text = column.cell(run)
    return Text(shortened(text, column.width), style=style, justify="right" if column.right else "left")


def _ratios(run: RunView) -> list[Content]:
    if run.baseline:
        return [words(("★ baseline · the others show their ratio to it", "$dim"))]
    known = [
        words((f"{label} ", "$dim"), (figures.times(run.ratios[key]), "bold"))
        for key, label in _RATIOS
        if run.ratios.get(key) is not None
    ]
    if not known:
        return [words((f"no ratio to a baseline yet · {key('baseline')} makes this run the baseline", "$dim"))]
    return [words((f"run {run.number} / baseline  ", "$dim"), known[0]), *known[1:]]
