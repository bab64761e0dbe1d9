import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeVendored } from './vendored.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the console serves the lockfile’s libraries byte for byte (if not, run "npm run vendor -- --write")', () => {
  for (const [name, text] of describeVendored(root))
    expect(readFileSync(join(root, 'packages/console/public', name), 'utf8'), name).toBe(text)
})

test('no console library imports another by a bare name, which would need an import map', () => {
  for (const [name, text] of [...describeVendored(root)].filter(([file]) => file.endsWith('.js')))
    expect(text.match(/(?:from|import)\s*["'][^".'/]/), name).toBeNull()
})
