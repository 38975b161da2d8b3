"""A click on a command of a card or of the table of parameters copies the whole command."""

from browser import browser, written
from checkout import ROOT

from clbook.pages.parameter_table import parameter_table

SCRIPT = (ROOT / "book" / "_static" / "card.js").as_uri()
CARD = '<div class="claim"><code class="claim-command">clbook verify stand-in eq-1</code></div><code>not this</code>'
TABLE = parameter_table("data: str = 'digits'  # images, digits|mnist", "stand-in")
CLICK = """(async () => {{
  const copied = [];
  Object.defineProperty(navigator, 'clipboard', {{ value: {{ writeText: async (text) => copied.push(text) }} }});
  document.querySelector('{}').click();
  await new Promise((done) => setTimeout(done));
  return [copied, [...document.querySelectorAll('.copied')].map((tag) => tag.textContent)];
}})()"""


def test_a_click_copies_the_whole_command(tmp_path):
    expected = {
        ".claim-command": [["clbook verify stand-in eq-1"], ["clbook verify stand-in eq-1"]],
        ".parameters .command": [["clbook run stand-in -p data=digits"], ["-p data=digits"]],
        "body > code": [[], []],
    }
    with browser() as page:
        for selector, found in expected.items():
            page.open(written(tmp_path, f'{CARD}{TABLE}<script src="{SCRIPT}"></script>'), 390)
            assert page.run(CLICK.format(selector)) == found
        assert not page.complaints
