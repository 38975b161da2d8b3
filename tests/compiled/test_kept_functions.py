"""Where compiled functions are kept, and who compiles; `tests/deep/test_compiling_processes.py` has the processes."""

import os
import shutil

import pytest
from checkout import ROOT

pytest.importorskip("numba", reason="compiled functions need numba")


@pytest.mark.parametrize("refused", [OSError("no locks here"), NotImplementedError()])
def test_where_files_cannot_be_locked_each_process_compiles_for_itself(monkeypatch, tmp_path, refused):
    import filelock

    from contrastive_dynamics.compiled import kept_functions

    def acquire(self, *of, **how):
        raise refused

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(filelock.BaseFileLock, "acquire", acquire)
    with kept_functions.one_process_at_a_time():
        assert kept_functions.compiled_once(abs_of)(-2.0) == 2


def test_an_error_of_a_trial_is_its_own_and_the_lock_is_given_back(monkeypatch, tmp_path):
    from contrastive_dynamics.compiled import kept_functions

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    for _ in range(2):
        with pytest.raises(OSError, match="of the trial"), kept_functions.one_process_at_a_time():
            raise OSError("of the trial")


def test_the_name_of_the_folder_covers_every_file_and_the_settings_of_others_stay(monkeypatch, tmp_path):
    from numba.core import config

    from contrastive_dynamics.compiled import kept_functions

    monkeypatch.setattr(config, "CACHE_DIR", "another")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    shutil.copytree(ROOT / "lib" / "contrastive_dynamics" / "compiled", tmp_path / "compiled")
    monkeypatch.setattr(kept_functions, "__file__", str(tmp_path / "compiled" / "kept_functions.py"))
    names, paths = [kept_functions.kept_in()], sorted((tmp_path / "compiled").glob("*.py"))
    for path in paths:
        path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
        names.append(kept_functions.kept_in())
    assert len(set(names)) == len(names) > 6 and {name.parent for name in names} == {tmp_path / "kept"}
    made = kept_functions.compiled_once(abs_of)
    assert config.CACHE_DIR == "another" and os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "kept")
    assert made(-2.0) == 2 and list(names[-1].rglob("*.nbi"))


def test_a_function_that_numba_would_keep_elsewhere_is_refused(monkeypatch, tmp_path):
    from contrastive_dynamics.compiled import kept_functions

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kept_functions, "kept_in", lambda: tmp_path / "file")
    with pytest.raises(OSError, match="numba keeps abs_of elsewhere"):
        kept_functions.compiled_once(abs_of)


def abs_of(x):
    return -x if x < 0 else x
