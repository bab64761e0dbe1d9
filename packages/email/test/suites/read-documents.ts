// Reads the documents of the test suites of other projects.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

type SuiteDocument = Readonly<Record<string, unknown>>

/** Reads every document of a suite: the JSON in this repository, or the original YAML. */
export function readDocuments(file: URL): readonly SuiteDocument[] {
  return file.pathname.endsWith('.json') ? JSON.parse(readFileSync(file, 'utf8')) : readYaml(file)
}

/** Reads YAML leniently with Python, because the suites contain repeated keys and octets that are not UTF-8. */
function readYaml(file: URL): readonly SuiteDocument[] {
  const script =
    'import json,sys,yaml\nt=open(sys.argv[1],encoding="latin-1").read()\nprint(json.dumps(list(yaml.load_all(t,yaml.BaseLoader))))'
  const json = execFileSync('python3', ['-c', script, file.pathname], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(json.toString('utf8'))
}
