import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { summarizeProfiles } from './summarize-profiles.ts'

const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber })
const profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 5] },
    { id: 2, callFrame: frame('take', 'file:///home/me/packages/store/src/intake/admission.ts', 9), children: [3] },
    { id: 3, callFrame: frame('take', 'file:///home/me/packages/store/src/intake/admission.ts', 9), children: [4] },
    { id: 4, callFrame: frame('parse', 'file:///home/me/node_modules/zod/index.js', 1) },
    { id: 5, callFrame: frame('(idle)') },
  ],
  startTime: 1000,
  samples: [4, 3, 4, 5, 2],
  timeDeltas: [0, 100, 300, 100, 500],
}

test('summarizeProfiles() adds up self time within the window, without idle time', () => {
  const directory = mkdtempSync(join(tmpdir(), 'profile-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'a.cpuprofile'), JSON.stringify(profile))
  writeFileSync(join(directory, 'notes.txt'), 'not a profile')

  const { functions, modules, inclusive } = summarizeProfiles(directory, { from: 1050, to: 9000 }, 10)

  expect(functions).toEqual([
    { name: 'take  packages/store/src/intake/admission.ts:10', share: 0.75 },
    { name: 'parse  node_modules/zod/index.js:2', share: 0.25 },
  ])
  expect(modules.map(({ name }) => name)).toEqual(['packages/store', 'node_modules/zod'])
  expect(inclusive).toEqual([{ name: 'take  packages/store/src/intake/admission.ts:10', share: 1 }])
})
