import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a command escapes characters in its errors that could move the cursor', async () => {
  const command = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
  const importing = promisify(execFile)(process.execPath, [
    command,
    'import',
    '\u009b31m\u202ex',
    '--format',
    'agui',
    '--thread',
    'x',
  ])
  const stderr = '\\u009b31m\\u202ex cannot be read\n'
  await expect(importing).rejects.toMatchObject({ code: 1, stderr })
})
