// Follows docs/start/first-answer.md from a clone alone, because npm may not have the package yet.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { install } from './install-packages.ts'
import { runProgram } from './program.ts'

const clone = join(import.meta.dirname, '../../..')
const page = readFileSync(join(clone, 'docs/start/first-answer.md'), 'utf8')
const { tarball } = inject('installation')
const node = process.execPath
const folder = mkdtempSync(join(tmpdir(), 'postern-first-'))
const project = join(folder, 'my-agents')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns the commands of a numbered step. */
function listCommands(step: number): readonly string[] {
  const [, code = ''] = new RegExp(`^## ${step}\\. .*?^\`\`\`sh\n(.*?)^\`\`\``, 'ms').exec(page) ?? []
  return code.trim().split('\n')
}

const runShell = (command: string, folder: string) => runProgram('sh', ['-c', command], { node, folder })

test('the first page works from a clone alone: its project installs, and its tests pass', async () => {
  const [first, second, init = ''] = listCommands(1)
  // The exam itself has packed the package with the same command.
  expect([first, second, dirname(tarball)]).toEqual(['npm install', 'npm run package', join(clone, 'build')])
  const { code, errors } = await runShell(init.replace('../my-agents', project), clone)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const [enter, installAll, testAll = ''] = listCommands(2)
  expect([enter, installAll]).toEqual(['cd ../my-agents', 'npm install'])
  await install(project, [])
  const [, passed = 'nothing'] = /You see `(\d+ passed)`/.exec(page) ?? []
  expect((await runShell(testAll, project)).output).toContain(passed)
})
