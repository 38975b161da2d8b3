"""Live pictures as ES modules `{render({model, el})}`, with a model that keeps what it is told, without a network."""

import json

import pytest
from browser import written
from checkout import ROOT
from live_page import NAMES, SCENES, to_the_least

from clbook.notebook.explorables import live_module

# A model as anywidget has it: a changed value is announced at once, inside set.
MODEL = """
window.model = (values) => ({
  values, heard: {}, saved: [],
  get(key) { return this.values[key]; },
  set(key, value) {
    if (this.values[key] === value) return;
    this.values[key] = value;
    (this.heard[`change:${key}`] || []).forEach((call) => call());
  },
  on(event, call) { (this.heard[event] = this.heard[event] || []).push(call); },
  off(event, call) { this.heard[event] = this.heard[event].filter((other) => other !== call); },
  save_changes() { this.saved.push({ ...this.values }); },
});
window.show = async (text, values) => {
  const picture = (await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))).default;
  window.kept = model(values);
  window.end = picture.render({ model: kept, el: document.querySelector("#el") });
  return Object.keys(picture).join();
};"""
ASKING = "document.querySelector('#el .board').classList.contains('asking')"


@pytest.fixture(params=NAMES)
def rendered(page, tmp_path, request):
    """A function that renders the picture with a model of these values; returns what the module exports."""
    page.open(written(tmp_path, f'<div id="el"></div><script>{MODEL}</script>'), prefers_reduced_motion="reduce")

    def render(values: dict) -> str:
        return page.run(f"show({json.dumps(live_module(request.param, ROOT))}, {json.dumps(values)})")

    yield request.param, render
    assert page.complaints == []


def test_it_renders_in_an_element_with_its_style(page, rendered):
    _, render = rendered
    assert render({}) == "render" and page.run(ASKING)
    assert page.run("getComputedStyle(document.querySelector('#el .panels')).display") == "flex"
    page.run("end(); true")
    assert page.run("document.querySelector('#el').children.length") == 0


def test_the_models_values_open_the_scene_and_drive_it(page, rendered):
    name, render = rendered
    (key, value), *_ = SCENES[name].items()
    render({key: value})
    shown = f"explorables.live.{name}[0].read().{key}"
    assert page.run(ASKING) is False and page.run(shown) == value
    page.run(f"kept.set({key!r}, {value / 2}); true")
    assert page.run(shown) == value / 2


def test_the_model_hears_what_the_reader_moves_and_nothing_else(page, rendered):
    name, render = rendered
    (key, value), (other, second), *_ = SCENES[name].items()
    render({key: value, other: second})
    page.run(to_the_least("#el"))
    saved = page.until("kept.saved.at(-1)")
    assert set(saved) == {key, other} and saved[key] != value
    assert saved[key] == page.run(f"explorables.live.{name}[0].read().{key}")
    assert page.run("location.hash") == ""
