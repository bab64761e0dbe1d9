import { requirementViews } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { describeTestConfig, eventually, openTestGateway } from '../setup/gateway.ts'
import {
  askShop,
  callShop,
  decide,
  findActionPath,
  readAnswerText,
  readPolicy,
  shopkeeper,
} from '../setup/requirement-steps.ts'

// These tests cover refusals and requirements of every kind, each in the form of its channel.

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents: { shop: shopkeeper } }))
})
afterAll(() => gateway.close())

interface Note {
  readonly content: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly tag: readonly { readonly type: string; readonly href: string }[]
}

async function askInPublic(text: string) {
  const { objectId } = await gateway.simulation.fediverse.deliver({
    to: '@shop@agents.test',
    text,
    visibility: 'public',
  })
  const { activity, inbox } = await gateway.simulation.fediverse.awaitReply(objectId, 30_000)
  return { note: activity.object as unknown as Note, inbox, objectId }
}

const alice = 'https://mastodon.test/users/alice'

test('an ActivityPub sender gets a refusal as a direct reply in words (MN-7.1)', async () => {
  const { note } = await askInPublic('refuse please')
  expect(note.content).toContain('Not today.')
  expect(note.content).not.toContain('/actions/')
  expect(note.tag).toMatchObject([{ type: 'Mention', href: alice }])
  const [message] = await gateway.messages()
  expect(await gateway.readMessage(`#${message?.message}`)).toMatchObject({ response: { status: 'rejected' } })
})

test('an ActivityPub sender gets a requirement as a direct reply to them alone, even for a public question', async () => {
  const { note, inbox, objectId } = await askInPublic('consent please')
  expect({ to: note.to, cc: note.cc }).toEqual({ to: [alice], cc: [] })
  expect(note.tag).toMatchObject([{ type: 'Mention', href: alice }])
  expect(inbox).toBe('/users/alice/inbox')
  const action = findActionPath(note.content)
  expect((await decide(gateway, action, 'grant')).status).toBe(200)
  const { activity } = await gateway.simulation.fediverse.awaitActivity(
    ({ activity: { object } }) => JSON.stringify(object).includes('decided: consent_required granted by link'),
    30_000,
  )
  expect(activity.object).toMatchObject({ inReplyTo: objectId, content: expect.stringContaining('my state') })
})

test.each(['public', 'direct'] as const)(
  'a requirement after interim posts in a %s conversation only has a link if it is direct',
  async visibility => {
    const receipt = await gateway.simulation.fediverse.deliver({
      to: '@shop@agents.test',
      text: 'slowly please',
      visibility,
    })
    const { activity } = await gateway.simulation.fediverse.awaitActivity(({ activity: { type, object } }) => {
      const { inReplyTo, content } = (object ?? {}) as { inReplyTo?: string; content?: string }
      return type === 'Update' && inReplyTo === receipt.objectId && content?.includes('May I look it up?') === true
    }, 30_000)
    const { content } = activity.object as unknown as Note
    expect(content.includes('/actions/')).toBe(visibility === 'direct')
    expect(content.includes('Please write to me again in a direct message.')).toBe(visibility === 'public')
  },
)

test.each([
  [
    'a requirement of an unknown kind',
    'misspelled',
    '"parts.0.policy.kind" ("consent_requird") must be one of consent',
  ],
  ['a part of an unknown kind', 'unknown', '"parts.0.kind" ("fille") must be one of text, file, link, artifact'],
  ['a file at an FTP server', 'ftp', '"parts.0.bytes_ref.url" ("ftp://shop.test/a.txt") must be an address of http'],
])(
  'an answer with %s fails, and the operator sees the value and the rule (MN-4, MN-7.1)',
  async (_what, word, fault) => {
    const response = await askShop(gateway, `${word} please`)
    expect(response.task?.status.state).toBe('TASK_STATE_FAILED')
    const [message] = await gateway.messages()
    expect(JSON.stringify(await gateway.readMessage(`#${message?.message}`)).replaceAll('\\"', '"')).toContain(fault)
  },
)

test('an A2A caller without the needed proof learns how to give it in the task, and can continue (A2A AUTH-INTASK, MN-6.1)', async () => {
  const response = await askShop(gateway, 'login please')
  expect(response.task?.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  expect(readPolicy(response)).toMatchObject({
    kind: 'unauthorized',
    auth_challenges: [{ scheme: 'Bearer', realm: 'members' }],
  })
  expect(readAnswerText(response)).toContain('Only members may do that.')
  const taskId = response.task?.id ?? ''
  const resolution = { in_reply_to_state: readPolicy(response).state }
  const claimed = await askShop(gateway, 'it is me', { taskId, resolution })
  expect(claimed).toMatchObject({
    status: 403,
    error: { violations: [{ description: 'is not for the caller to grant' }] },
  })
  const page = new URL(String(readPolicy(response).url)).pathname
  const text = await (await fetch(gateway.url() + page)).text()
  expect(text).toContain('href="https://login.test/start"')
  expect(text).not.toContain('value="grant"')
  expect((await decide(gateway, page, 'grant')).status).toBe(403)
  const followed = await askShop(gateway, 'hello again', { taskId })
  expect(followed.task).toMatchObject({ id: taskId, status: { state: 'TASK_STATE_COMPLETED' } })
})

test('the operator grants access from the terminal, and cannot consent for others', async () => {
  const response = await askShop(gateway, 'login please')
  const id = String(readPolicy(response).requirement)
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
  const config = describeTestConfig(gateway.simulation, gateway.dataDir)
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
  const lines: string[] = []
  const output = { openClient, json: false, print: (text: string) => void lines.push(text) }
  await requirementViews.list(output, { state: 'open' })
  expect(lines.join()).toContain(id)
  await requirementViews.grant(output, { id })
  const readOutcome = async () => {
    const { task } = await callShop(gateway, 'GetTask', { id: response.task?.id })
    return task?.status.state === 'TASK_STATE_COMPLETED' && readAnswerText({ status: 200, task })
  }
  expect(await eventually(readOutcome)).toContain('decided: unauthorized granted by operator, my state')
  const secondGrant = requirementViews.grant(output, { id })
  await expect(secondGrant).rejects.toThrow('Cannot decide: This has been used already.')
  const consent = await askShop(gateway, 'consent please')
  const otherRequirement = { id: String(readPolicy(consent).requirement) }
  await expect(requirementViews.grant(output, otherRequirement)).rejects.toThrow(
    'Cannot decide: "consent_required" is not granted this way',
  )
})

test('in dev mode a click pays, with a receipt like any other', async () => {
  const response = await askShop(gateway, 'pay please')
  const page = new URL(String(readPolicy(response).url)).pathname
  expect(await (await fetch(gateway.url() + page)).text()).toContain('Pay (test)')
  expect((await decide(gateway, page, 'grant')).status).toBe(403)
  const paidResponse = await decide(gateway, page, 'pay_test')
  expect([paidResponse.status, await paidResponse.text()]).toEqual([200, expect.stringContaining('<h1>Paid</h1>')])
  expect((await decide(gateway, page, 'pay_test')).status).toBe(409)
})

test('a stream shows a requirement only once a person can decide it', async () => {
  const authorization = `Bearer ${await gateway.simulation.a2a.token({ sub: 'carol' })}`
  const message = { messageId: 'streamed', role: 'ROLE_USER', parts: [{ text: 'consent please' }] }
  const response = await fetch(`${gateway.url()}/agents/shop/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
  })
  const events = (await response.text()).split('\n').filter(line => line.startsWith('data:'))
  const linkEvents = events.filter(event => event.includes('/actions/'))
  expect(linkEvents).toHaveLength(1)
  expect(linkEvents[0]).toContain('TASK_STATE_INPUT_REQUIRED')
  const path = findActionPath(linkEvents[0] ?? '')
  expect((await decide(gateway, path, 'decline')).status).toBe(200)
})

test('the operator sees no state and no link, over every channel', async () => {
  const records = await Promise.all((await gateway.messages()).map(({ message }) => gateway.readMessage(`#${message}`)))
  const recordedText = JSON.stringify([
    records,
    await gateway.requestOperator('/deliveries?limit=500'),
    await gateway.requestOperator('/requirements'),
  ])
  expect(recordedText).toContain('consent_required')
  expect(recordedText).toContain('/actions/…')
  expect(recordedText).not.toMatch(/\/actions\/[\w-]{43}/)
  expect(recordedText).not.toMatch(/"(state|in_reply_to_state)":"[\w-]{43}"/)
})
