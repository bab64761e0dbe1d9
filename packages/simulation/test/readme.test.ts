import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openSimulation } from '../src/index.ts'
import { digestOf, openTinyGateway } from './tiny-gateway.ts'

/** Runs the statements of a module with these names in place of its imports; resolves with its `statuses`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn statuses })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README sends an honest and a tampered post to a gateway', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const simulation = await openSimulation()
  const gateway = await openTinyGateway(simulation, {
    onPost: ({ body, headers }) => ({ status: headers.digest === digestOf(body) ? 202 : 401 }),
  })
  try {
    expect(await runExample(code, { openSimulation, port: gateway.port })).toEqual([202, 401])
  } finally {
    await Promise.all([gateway.close(), simulation.close()])
  }
})
