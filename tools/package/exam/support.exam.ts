// Runs the tests of examples/support with the packed package and the libraries of its manifest.
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { runProgram } from './program.ts'

test('the tests of the example support pass with only the package installed', async () => {
  const folder = join(inject('installation').examples, 'support')
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  const { code, output, errors } = await runProgram(process.execPath, [vitest, 'run'], {
    node: process.execPath,
    folder,
  })
  expect(code, output + errors).toBe(0)
  expect(output).toMatch(/Tests\s.*9 passed/)
})
