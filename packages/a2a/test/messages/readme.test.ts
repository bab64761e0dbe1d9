import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { a2aConfigSchema, openA2a } from '../../src/index.ts'
import { openA2aGateway } from '../setup/gateway.ts'

/** Runs the statements of a module with these names in place of its imports; resolves with its `status`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn status })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of a2a sends a message', async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const { gateway, issuer: signer, token, close } = await openA2aGateway({ runsWorker: false })
  const { issuer, jwks, audience } = signer
  const names = { openA2a, a2aConfigSchema, gateway, issuer, jwks, audience, token }
  expect(await runExample(code, names)).toBe('TASK_STATE_SUBMITTED')
  await close()
})
