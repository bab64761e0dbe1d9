import { readFileSync } from 'node:fs'
import type { ChannelContext } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { emailConfigSchema, openEmail } from '../../src/index.ts'
import { createMailDirectory, mailIntakeSecret, openMailGateway } from '../setup/gateway.ts'

/** Runs the statements of a module with these names in place of its imports. It resolves with the module's `status`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn status })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of email sends a mail to an agent', async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const mailGateway = await openMailGateway()
  const { system, store } = mailGateway
  const gateway: ChannelContext = {
    channels: [],
    system,
    store,
    admission: { rules: [], store },
    decisions: store,
    agents: createMailDirectory(['echo']),
  }
  const names = { openEmail, emailConfigSchema, secret: mailIntakeSecret, gateway }
  expect(await runExample(code, names)).toBe('accepted')
  expect((await mailGateway.readLatestMessage()).message).toMatchObject({
    parts: [{ kind: 'text', content: 'Hello there.' }, {}],
  })
  await mailGateway.close()
})
