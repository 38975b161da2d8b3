"""What runs inside a sheet: its checks, its limits, its predictions, its export.

This file is copied into the metadata of each sheet, and read by the kernel that grades one: it needs the standard
library and otter alone. A student's machine has no clbook.
"""

import ast
import functools
import json
import re
import signal
import threading
import zipfile
from datetime import datetime
from pathlib import Path

SECONDS = 20.0  # of processor time, for a test case
STOPPED = "no end after"
_NOT_SAVED = """Nothing is exported: the file does not hold what you ran last ({names}).
Save it (Ctrl-S), then run this cell again. In Colab or where saving does not change the file, hand in what
"File > Download .ipynb" gives."""
_UNNAMED = "Nothing is exported: write your name and number into the first cell, run it, then run this cell again."
_NOT_RUN = "Nothing is exported: run all cells first."
_FIRST_PREDICT = """Predict first: write three numbers in the cell of `{question}`, run it, and run its check.
An honest guess with an honest interval earns points; a guess after the result earns none."""
# whose kinds of results a test compares
_COMPARED = ("builtins", "collections", "decimal", "fractions", "functools", "numpy", "operator", "scipy")


class Sentence(AssertionError):
    """What is to be said in place of an error."""


class TooLong(BaseException):
    """A limit is reached; no `except Exception` of an answer takes it."""


def alarm(seconds: float) -> None:
    """Raise TooLong after so many seconds of processor time, and once a second from then on; 0 ends it.

    Only where the system has such a timer, and in the main thread.
    """

    def ring(number, frame):
        raise TooLong

    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPROF, ring)
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0 if seconds else 0.0)


def limit_cells(shell, seconds: float) -> None:
    """End a cell after so many seconds of processor time."""
    shell.events.register("pre_run_cell", lambda *_: alarm(seconds))
    shell.events.register("post_run_cell", lambda *_: alarm(0))


def limit_cases(seconds: float = SECONDS) -> None:
    """Let each test case end after so many seconds, and say in one sentence which answer is open or endless."""
    from otter.test_files.exception_test import ExceptionTestFile, test_case

    if hasattr(test_case.call_func, "limited"):  # by the process that grades
        return
    message = ExceptionTestFile._generate_error_message

    def call_func(self, env):
        given = {name: env if name == "env" else answer(name, env) for name in self._get_func_params()}
        try:
            alarm(seconds)
            self.test_func(**given)
        except TooLong:
            raise Sentence(f"{STOPPED} {seconds:g} s: does a loop never end?") from None
        finally:
            alarm(0)

    def error_message(self, error, context=0):
        return str(error) if isinstance(error, Sentence) else message(self, error, context)

    call_func.limited = True
    test_case.call_func, ExceptionTestFile._generate_error_message = call_func, error_message


def answer(name: str, env: dict):
    """What a test gets by this name; raises Sentence for an open or missing answer, at once or when it is called."""
    value = env.get(name)
    if value is None:
        raise Sentence(f"`{name}` is not defined: has the cell been run, and is the name as the question has it?")
    if value is Ellipsis:
        raise Sentence(f"`{name}` is still `...`")
    if not callable(value):
        _refuse_own_kind(name, "is", value)
    if not callable(value) or getattr(value, "__module__", "") != "__main__":
        return value

    @functools.wraps(value)
    def returning(*given, **options):
        result = value(*given, **options)
        if result is None or result is Ellipsis:
            raise Sentence(f"`{name}` returns nothing yet")
        _refuse_own_kind(name, "returns", result)
        return result

    return returning


def _refuse_own_kind(name: str, does: str, value) -> None:
    """Refuse an object that says itself what it equals; raises Sentence."""
    for each in [value, *(value if type(value) in (list, tuple) else ())]:
        kind = type(each)
        if kind is not type and kind.__module__.partition(".")[0] not in _COMPARED:
            what = f"an object of the kind `{kind.__name__}`"
            raise Sentence(f"`{name}` {does} {what}: numbers, arrays and tuples or lists of them can be checked")


def sheet_files(name: str, folder: Path) -> list[Path]:
    """The files of a sheet in a folder, whatever they are called."""
    found = []
    for path in sorted(folder.glob("*.ipynb")):
        try:
            if json.loads(path.read_bytes())["metadata"]["clbook"]["sheet"] == name:
                found.append(path)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
    return found


class Grader:
    """The `grader` of a sheet: `check` and `export` as otter has them, for a file of any name."""

    def __init__(self, metadata: dict, env: dict, folder: Path):
        self.env, self.folder, self.tests = env, folder, metadata["otter"]["tests"]
        about = metadata["clbook"]
        self.name, self.answers, self.predictions = about["sheet"], about["answers"], about["predictions"]
        self.seals = folder / f"{self.name}-predictions.json"
        limit_cases()
        self.shell = env.get("get_ipython", lambda: None)()
        if self.shell:
            self.shell.set_custom_exc((Exception,), self._failed)

    def check(self, question: str, env: dict | None = None):
        """Otter's result of the visible tests of a question; an open answer is one sentence."""
        from otter import Notebook
        from otter.test_files import ExceptionTestFile

        env = self.env if env is None else env
        if Notebook._grading_mode:
            return Notebook().check(question, env)
        first = f"{question[:2]}_prediction"
        if question != first and first in self.predictions and first not in self._sealed():
            return print(_FIRST_PREDICT.format(question=first))
        result = ExceptionTestFile.from_string(self.tests[question], question)
        result.run(env)
        told = [case.message.partition("\n")[2] for case in result.test_case_results if not case.passed]
        open_answers = [text for text in told if text.startswith("`") and "\n" not in text]
        if open_answers:
            return print(open_answers[0])
        if question in self.predictions and not told:
            self._seal(question, env)
        elif first in self.predictions and not told:
            self._compare(first, env)
        return result

    def _sealed(self) -> dict:
        """Question → what was predicted, and when."""
        try:
            kept = json.loads(self.seals.read_bytes())
            return kept if isinstance(kept, dict) else {}
        except (OSError, ValueError):
            return {}

    def _seal(self, question: str, env: dict) -> None:
        """Write a prediction down with its time; the first one stays."""
        said = [float(each) for each in env[self.predictions[question]["variable"]]]
        kept = self._sealed()
        if question not in kept:
            kept[question] = {"said": said, "at": f"{datetime.now():%Y-%m-%d %H:%M:%S}"}
            self.seals.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            print(f"Written down at {kept[question]['at']}: {in_words(said)}. This is what will be graded.")
        elif kept[question]["said"] != said:
            seal = kept[question]
            print(f"A later change does not count: at {seal['at']} you said {in_words(seal['said'])}.")

    def _compare(self, question: str, env: dict) -> None:
        """Say what was predicted beside what the student's own answers give."""
        try:
            value = round(float(eval(self.predictions[question]["truth"], dict(env))), 12)  # 0 is no 2e-16
            said = self._sealed()[question]["said"]
        except Exception:  # of whatever kind an answer that is still open raises
            return
        where = "inside your interval" if said[1] <= value <= said[2] else "outside your interval"
        print(f"You said {in_words(said)}; by your own answer it is {value:.4g}, {where}.")

    def export(self, **options):
        """Write NAME-SHEET.zip with the file that holds what was run last; otter's options change nothing."""
        from otter import Notebook

        if Notebook._grading_mode:
            return
        who = "-".join(re.findall(r"\w+", str(self.env.get("student") or "")))
        ran = self._ran()
        if not who or not ran:
            return print(_NOT_RUN if who else _UNNAMED)
        files = sheet_files(self.name, self.folder)
        lacking = [[name for name, code in ran.items() if code not in _codes(path)] for path in files]
        if all(lacking):
            return print(_NOT_SAVED.format(names=", ".join(min(lacking or [list(ran)], key=len))))
        path, file = self.folder / f"{who}-{self.name}.zip", files[lacking.index([])]
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{who}-{self.name}.ipynb", self._with_seals(file.read_bytes()))
        saved = datetime.fromtimestamp(file.stat().st_mtime)
        print(f"{path.name} is written: {file.name} as it was saved at {saved:%H:%M:%S}. Hand in this file.")

    def _with_seals(self, data: bytes) -> bytes:
        """A notebook file with the predictions that were written down."""
        content = json.loads(data)
        content["metadata"]["clbook"]["sealed"] = self._sealed()
        return json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", errors="replace")

    def _ran(self) -> dict[str, str]:
        """Name of an answer → the last cell that was run and defines it."""
        ran = {}
        for source in self.shell.history_manager.input_hist_raw if self.shell else []:
            ran |= {name: source.strip() for name in defined(source) if name in self.answers}
        return ran

    def _failed(self, shell, kind, error, trace, tb_offset=None):
        """A figure that cannot be drawn yet is one sentence; any other error is shown as ever."""
        source = shell.history_manager.input_hist_raw[-1]
        used = [name for name in self.answers if re.search(rf"\b{name}\b", source)]
        if "plt.show()" not in source or not used:
            return shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        shell.user_ns["plt"].close("all")
        drawn = ", ".join(f"`{name}`" for name in used)
        what = f"{kind.__name__}: {error}".splitlines()[0]
        print(f"No figure yet: it is drawn with {drawn} ({what})")


def in_words(said: list) -> str:
    """A prediction as text."""
    value, low, high = said
    return f"{value:.4g} ({low:.4g} to {high:.4g})"


def _codes(path: Path) -> set[str]:
    """The code cells of a notebook file."""
    cells = json.loads(path.read_bytes())["cells"]
    return {"".join(cell["source"]).strip() for cell in cells if cell["cell_type"] == "code"}


def without_magics(source: str) -> str:
    """Code without the lines that only IPython takes (%%time, %matplotlib, !ls)."""
    return "\n".join("" if re.match(r"\s*(%|!)", line) else line for line in source.split("\n"))


def defined(source: str) -> list[str]:
    """Functions, classes and variables that code defines at its top level, as often as it does; [] for invalid code."""
    try:
        body = ast.parse(without_magics(source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return names + [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
