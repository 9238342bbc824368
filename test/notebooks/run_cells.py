"""The TypeScript blocks of a page as cells of a notebook. A comment `notebook: TEXT` behind a block is what it prints or shows.

Every cell is run, and the one that binds is run twice, as people do.
"""

import re
import sys

import nbclient
import nbformat

with open(sys.argv[1], encoding="utf8") as file:
    page = file.read()
blocks = re.findall(r"```ts\n(.*?)```(?:\n\n<!-- notebook: (.*?) -->)?", page, re.DOTALL)
cells = [block for block in blocks for _ in range(2 if "replace: true" in block[0] else 1)]
if len(cells) < 5 or sum(1 for _, text in cells if text) < 2:
    sys.exit(f"expected five cells of which two say what they print, got {len(cells)}")

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source, _ in cells])
nbclient.NotebookClient(notebook, timeout=120, kernel_name="tslab", allow_errors=True).execute()

failed = 0
for cell, (source, expected) in zip(notebook.cells, cells):
    outputs = cell.outputs
    text = "".join(str(output.get("text", "")) for output in outputs if output.get("name") != "stderr")
    errors = [output for output in outputs if output.output_type == "error"]
    # What the kernel's compiler refuses comes on standard error.
    complaints = [o.text for o in outputs if o.get("name") == "stderr" and re.match(r"\d+:\d+ - ", o.text)]
    ok = not errors and not complaints and (expected or "") in text
    failed += not ok
    print("ok" if ok else "not ok", source.strip().splitlines()[0])
    if not ok:
        print(f"expected {expected!r}, got {outputs!r}")
sys.exit(1 if failed else 0)
