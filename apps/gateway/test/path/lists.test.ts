import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { correctList, describeLists, readList, readPurpose } from './lists.ts'
import { repository } from './recorded-gateway.ts'

const text = [
  '# Paths',
  '## Web',
  '- `packages/web/src/routes.ts`: the route',
  '- `packages/web/src/gone.ts`: not any more',
  '- `packages/pipeline/src/turn/turn.ts`: the turn',
  '## Email',
  '- `packages/email/src/verify.ts`: the proof',
].join('\n')

test('a list ends where the next heading begins', () => {
  expect(readList(text, 'Email')).toEqual(['packages/email/src/verify.ts'])
  expect(readList(text, 'Web')).toHaveLength(3)
})

test('a correction adds a file beside its neighbours, and removes a file that does not run', () => {
  const runFiles = ['packages/web/src/routes.ts', 'packages/web/src/new.ts', 'packages/pipeline/src/turn/turn.ts']
  const { corrected, changes } = correctList(text, { title: 'Web', ran: runFiles, describe: () => 'what is new' })
  expect(readList(corrected, 'Web')).toEqual(runFiles)
  expect(readList(corrected, 'Email')).toEqual(readList(text, 'Email'))
  expect(corrected).toContain('- `packages/web/src/new.ts`: what is new')
  expect(changes).toEqual(['added packages/web/src/new.ts', 'took out packages/web/src/gone.ts'])
})

test('a line describes a file by the file’s own first line', () => {
  const described = describeLists(text, path => readPurpose(path, '// Turns one message. It has no state.\nimport x\n'))
  expect(described).toContain('- `packages/pipeline/src/turn/turn.ts`: Turns one message.\n')
  expect(() => readPurpose('a.ts', "import x from 'y'\n")).toThrow('a.ts begins without a line')
})

test('the lists of the reference match the files (if not, run node apps/gateway/test/path/main.ts)', () => {
  const page = readFileSync(join(repository, 'docs/reference/path-files.md'), 'utf8')
  const describedPage = describeLists(page, path => readPurpose(path, readFileSync(join(repository, path), 'utf8')))
  expect(page.split('\n')).toEqual(describedPage.split('\n'))
})
