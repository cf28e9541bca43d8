// The worker that runs Python. Pyodide's two scripts stand above this one in the same file.
// Comes: {start: {module, stdlib, numpy, sources, lock, wheel}} once, then {run: {source, file}}.
// Goes: {stage}, {ready}, {failed}, {printed}, {done}.
"use strict";

const BASE = "embedded://pyodide/"; // an address that nothing is fetched from
let runCell = null;

self.onmessage = async (event) => {
  const { start, run } = event.data;
  try {
    if (start) await begin(start);
    if (run) self.postMessage({ done: JSON.parse(runCell(run.source, run.file, printed)) });
  } catch (error) {
    self.postMessage({ failed: String((error && error.message) || error) });
  }
};

function printed(text) {
  self.postMessage({ printed: text });
}

async function begin(given) {
  const files = { "pyodide-lock.json": given.lock, "python_stdlib.zip": given.stdlib, [given.wheel]: given.numpy };
  self.fetch = async (address) => {
    const name = String(address.url || address).split("/").pop();
    return new Response(name in files ? files[name] : "", { status: 200 });
  };
  // The page has compiled WebAssembly already; a worker that is started again needs not do so.
  WebAssembly.instantiateStreaming = async (_, imports) => ({
    module: given.module,
    instance: await WebAssembly.instantiate(given.module, imports),
  });
  self.postMessage({ stage: "Python starts" });
  const python = await loadPyodide({ indexURL: BASE, lockFileURL: BASE + "pyodide-lock.json" });
  self.postMessage({ stage: "NumPy is loaded" });
  await python.loadPackage("numpy", { messageCallback: () => {} });
  self.postMessage({ stage: "gpukit is loaded" });
  python.unpackArchive(given.sources, "zip", { extractDir: "/gpukit" });
  python.runPython(`
import sys
sys.path.insert(0, "/gpukit")
sys.dont_write_bytecode = True
import json
from gpukit.slides.live.running import run
def run_cell(source, file, say):
    return json.dumps(run(source, file, say))
`);
  runCell = python.globals.get("run_cell");
  self.postMessage({ ready: true });
}
