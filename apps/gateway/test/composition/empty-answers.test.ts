import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, typesOf } from '../setup/web-gateway.ts'
import { awaitReason } from '../why/ask-why.ts'

// These tests reach agents that answer without a text over every channel.

let hookReply: unknown
let hook: Server
let web: WebGateway

beforeAll(async () => {
  hook = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(hookReply))
  })
  await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  web = await openWebGateway(
    {},
    {
      agents: {
        desk: { use: '../agents/failing/wordless.ts' },
        hook: { use: 'webhook', url, secret: 'shared secret' },
      },
      default_agent: 'desk',
    },
  )
})
afterAll(async () => {
  await web.close()
  await new Promise(resolve => hook.close(resolve))
})

async function expectEmptyAnswer(id: string) {
  const reason = await awaitReason(web.gateway, id, 'agent_silent')
  expect(reason.sentence).toContain('gave an empty answer')
  expect(JSON.stringify(reason.evidence)).toContain('ended: empty answer')
  expect(await web.gateway.deliveries()).toEqual([])
}

test('the gateway sends no post for an empty answer', async () => {
  const { fediverse } = web.gateway.simulation
  const { objectId } = await fediverse.deliver({ to: '@desk@agents.test', text: 'empty, please', visibility: 'direct' })
  await expectEmptyAnswer(objectId)
  expect(fediverse.received.filter(({ activity }) => activity.type === 'Create')).toEqual([])
})

test('the gateway sends no mail for a blank answer', async () => {
  const { mail } = web.gateway.simulation
  const receipt = await mail.deliver({
    to: 'desk@agents.test',
    from: 'alice@alice.test',
    subject: 'hello',
    text: 'blanks',
  })
  await expectEmptyAnswer(receipt.mail.messageId)
  expect(mail.received).toEqual([])
})

test.each(['blanks', 'pieces'])('a chat run with an empty answer ends without a message: %s', async label => {
  const events = await web.runChat(label, { id: `id-of-${label}` })
  expect(typesOf(events).filter(type => type.startsWith('TEXT_'))).toEqual([])
  expect(typesOf(events).at(-1)).toBe('RUN_FINISHED')
  await expectEmptyAnswer(`id-of-${label}`)
})

test.each([
  ['text', { text: '' }],
  ['parts', { parts: [{ kind: 'text', content: ' ' }] }],
  ['no parts', { parts: [] }],
])('a task ends without artifacts when a webhook answers with an empty %s', async (_what, reply) => {
  hookReply = reply
  const { result, messageId } = await askHook()
  expect(result.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
  expect(result.task.artifacts ?? []).toEqual([])
  await expectEmptyAnswer(messageId)
})

test('a text part of a webhook without a media type is Markdown, like its text', async () => {
  hookReply = { parts: [{ kind: 'text', content: 'Open daily' }] }
  const { result } = await askHook()
  expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(result.task.artifacts?.[0]?.parts).toMatchObject([{ text: 'Open daily', mediaType: 'text/markdown' }])
})

interface TaskResult {
  readonly task: {
    readonly status: { readonly state: string }
    readonly artifacts?: readonly { readonly parts: readonly object[] }[]
  }
}

async function askHook() {
  const { a2a } = web.gateway.simulation
  const receipt = await a2a.deliver({ url: 'https://agents.test/agents/hook/a2a', text: 'hello' })
  return { messageId: receipt.messageId, result: receipt.result as TaskResult }
}
