import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openRequirements, requirementsConfigSchema } from '../src/index.ts'
import { openRequirementsGateway, testDirectory } from './gateway.ts'

/** Runs the statements of a module with these names in place of its imports; resolves with its `page`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn page })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of requirements shows the question and takes the decision', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const gateway = await openRequirementsGateway()
  const { store, system } = gateway
  const { planned } = await gateway.requirement('consent_required', { message: 'May I order it?' })
  const given = { store, decisions: store, system, agents: testDirectory, id: planned.id }
  expect(await runExample(code, { openRequirements, requirementsConfigSchema, ...given })).toContain('May I order it?')
  expect(await gateway.countTurns()).toBe(1)
  await gateway.close()
})
