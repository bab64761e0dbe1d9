import type { MailDetails } from '@postern/email'
import type { MailPart } from '@postern/sdk'
import { defineAgent, json } from '@postern/sdk'
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const clerk = defineAgent({
  handle(message) {
    const mail = message.parts.find(part => part.kind === 'email')
    return `${message.kind} about ${mail?.subject ?? 'nothing'}`
  },
})
const relay = defineAgent({ handle: (message, context) => context.call('@clerk@agents.test', message.parts) })
const wire = defineAgent({ handle: () => json({ order: 7 }, 'order.json') })

let gateway: StartedGateway
beforeAll(async () => {
  const use = './agents/library.ts'
  const settings = {
    agents: { clerk: { use }, relay: { use: './agents/lister.ts' }, wire: { use: './agents/asker.ts' } },
  } as const
  gateway = await startGateway({ folder: import.meta.dirname, settings, modules: { clerk, relay, wire } })
})
afterAll(() => gateway.stop())

test.each([
  ['activitypub', 'nothing'],
  ['a2a', 'nothing'],
  ['email', 'my bike'],
  ['web', 'nothing'],
] as const)('an agent gets the kind of a message by %s, and the subject of a mail', async (via, subject) => {
  const { parts } = await gateway.send({ via, to: 'clerk', text: 'my bike' })
  expect(parts).toMatchObject([{ content: `message about ${subject}` }])
})

test('an agent can pass on received parts and another agent’s answer unchanged', async () => {
  const { parts, status } = await gateway.send({ via: 'email', to: 'relay', text: 'my bike' })
  expect(status).toBe('answered')
  expect(parts).toMatchObject([{ kind: 'text', content: 'message about nothing' }])
})

test('an agent answers with one part', async () => {
  const { parts } = await gateway.send({ via: 'a2a', to: 'wire', text: 'hello' })
  expect(parts).toMatchObject([{ kind: 'artifact', name: 'order.json', data: { order: 7 } }])
})

test('an agent’s type of a mail has exactly what the channel gives', () => {
  // `npm run types` fails if only one of the two declarations changes.
  type Given = Pick<MailPart, Exclude<keyof MailPart, symbol | 'kind' | 'flags'>>
  expectTypeOf<Given>().toEqualTypeOf<MailDetails>()
})
