import { readFileSync } from 'node:fs'
import { noLog } from '@postern/message'
import { expect, test } from 'vitest'
import { openAgents } from '../src/index.ts'
import { testContext, testMessage, testSystem } from './gateway.ts'

/** Runs the statements of a module with these names in place of its imports; resolves with its `answer`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn answer })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of agents answers a message', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const moduleDeps = { message: testMessage('hello'), context: testContext(), system: testSystem, log: noLog }
  expect(await runExample(code, { openAgents, ...moduleDeps })).toMatch(/^> hello\n/)
})
