import { readFileSync } from 'node:fs'
import { createOperationRouter, defineOperation, handleOperation } from '@postern/operator'
import { createClient } from '@postern/operator/client'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** Runs the statements of a module with these names in place of its imports; resolves with its `text`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^(import|console\.log).*\n/gm, '')}\nreturn text })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of operator declares an operation, routes it and calls it', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const names = { createClient, createOperationRouter, defineOperation, handleOperation, z }
  expect(await runExample(code, names)).toBe('Hello, Ann')
})
