import { execFileSync } from 'node:child_process'

/** Every document of a YAML file, leniently: the suites have keys twice and octets that are no UTF-8. Python reads it. */
export function readYaml(file: URL): readonly Record<string, unknown>[] {
  const script =
    'import json,sys,yaml\nt=open(sys.argv[1],encoding="latin-1").read()\nprint(json.dumps(list(yaml.load_all(t,yaml.BaseLoader))))'
  const json = execFileSync('python3', ['-c', script, file.pathname], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(json.toString('utf8'))
}
