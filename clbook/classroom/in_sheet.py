"""What runs inside a sheet: its checks, its limits, its export.

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
from types import FunctionType

SECONDS = 20.0  # of processor time, for a test case
STOPPED = "no end after"
_NOT_SAVED = """Nothing is exported: the file does not hold what you ran last ({names}).
Save it (Ctrl-S), then run this cell again. In Colab or where saving does not change the file, hand in what
"File > Download .ipynb" gives."""
_UNNAMED = "Nothing is exported: write your name and number into the first cell, run it, then run this cell again."
_NOT_RUN = "Nothing is exported: run all cells first."


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
    if not isinstance(value, FunctionType) or value.__module__ != "__main__":
        return value

    @functools.wraps(value)
    def returning(*given, **options):
        result = value(*given, **options)
        if result is None or result is Ellipsis:
            raise Sentence(f"`{name}` returns nothing yet")
        return result

    return returning


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
        self.name, self.answers = metadata["clbook"]["sheet"], metadata["clbook"]["answers"]
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
        result = ExceptionTestFile.from_string(self.tests[question], question)
        result.run(env)
        told = [case.message.partition("\n")[2] for case in result.test_case_results if not case.passed]
        open_answers = [text for text in told if text.startswith("`") and "\n" not in text]
        return print(open_answers[0]) if open_answers else result

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
            archive.write(file, f"{who}-{self.name}.ipynb")
        saved = datetime.fromtimestamp(file.stat().st_mtime)
        print(f"{path.name} is written: {file.name} as it was saved at {saved:%H:%M:%S}. Hand in this file.")

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
