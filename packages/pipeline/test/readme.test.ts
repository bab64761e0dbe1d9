import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = new URL('..', import.meta.url)

test('the example in the README prints the output in its comments', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const documentedLines = [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => line)
  const options = { cwd: fileURLToPath(folder), encoding: 'utf8' } as const
  const output = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', code], options)
  expect(documentedLines).toHaveLength(3)
  expect(output.trimEnd().split('\n')).toEqual(documentedLines)
})
