import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
/** Matches the runtime's parser: `JSON.parse`, and `json()` of a request or an answer. */
const nativeReader = /\bJSON\s*\.\s*parse\b|\bJSON\s*\[|(?<!\bz)\.json\(\s*\)/
const theReader = 'packages/message/src/format/json.ts'

test('only one module of the repository parses JSON', () => {
  const files = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root }).filter(
    file => !/\.test\.ts$|^packages\/(simulation|testing)\/|^apps\/bench\//.test(file),
  )
  const strays = files.filter(file => nativeReader.test(readFileSync(join(root, file), 'utf8')))
  expect(files.length).toBeGreaterThan(500)
  expect(strays).toEqual([theReader])
})
