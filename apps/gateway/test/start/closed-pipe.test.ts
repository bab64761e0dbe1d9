// Tests commands whose reader has gone before they print, as `head` goes after its lines.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

test.runIf(process.platform !== 'win32').each([[['--help']], [['config', 'print', '--dev']]])(
  'a command exits silently when nobody reads its output: %j',
  async args => {
    const child = spawn(process.execPath, [program, ...args], { cwd: tmpdir() })
    child.stdout.destroy()
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect({ errors, code }).toEqual({ errors: '', code: 0 })
  },
)
