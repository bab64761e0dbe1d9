import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const script = resolve(import.meta.dirname, '../../test/export/export-much.ts')

test('the export of a thread larger than the memory is complete', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-export-'))
  // With less memory, a garbage collector that gets no processor for a while is too late.
  const heap = 100
  const { stdout } = await run(process.execPath, [
    `--max-old-space-size=${heap}`,
    script,
    join(directory, 'desk.db'),
    '10000',
  ])
  const { messages, bytes } = JSON.parse(stdout) as { messages: number; bytes: number }
  expect(messages).toBe(10_000)
  expect(bytes).toBeGreaterThan(1.5 * heap * 1024 * 1024)
  rmSync(directory, { recursive: true })
}, 120_000)
