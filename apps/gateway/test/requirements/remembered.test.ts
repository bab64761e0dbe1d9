import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { approvalViews } from '@postern/operator/views'
import type { ListedDecision } from '@postern/pipeline'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { describeTestConfig, eventually, operatorToken } from '../setup/gateway.ts'
import { findEvents, newName, openChat, outcomeOf, runChat } from '../setup/operator-gateway.ts'
import { askShop, findActionPath, readAnswerText, readPolicy } from '../setup/requirement-steps.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { annsToken, call, describeSwarm, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'
import { listTraces } from '../setup/traces.ts'

// These tests cover a decision on a call that also applies to later calls. The person who is asked makes it, on any channel. It is stored,
// applied without a question, listed and revoked.

const bobsToken = 'token-of-bob-for-the-tests'
const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
let swarm: SwarmGateway
let readLineCount = 0

beforeAll(async () => {
  process.env.TILL = tillFile
  swarm = await openSwarmGateway(
    (memberName, lastText, { body }) => {
      if (body.messages.at(-1)?.role === 'tool') return replyWith(`The till says ${lastText.replace(/[{}"]/g, '')}`)
      if (memberName === 'triage') return call('navigate_to_refunds', {})
      return lastText.includes('please')
        ? call('refund', { order: /order (\w+)/.exec(lastText)?.[1] ?? '17' })
        : replyWith('Yes?')
    },
    { email: { listen: { port: 0, protocol: 'smtp' } } },
  )
  const { baseUrl } = swarm.model
  const describeShop = (refund: unknown) => {
    const tool_policies = { refund, look_up: 'preview' }
    return {
      use: 'openai',
      base_url: baseUrl,
      model: 'test-model',
      show_tools: true,
      tools: '../agents/asking/till.ts',
      tool_policies,
    }
  }
  const token = (name: string, text: string) => ({ name, sha256: hash('sha256', text) })
  await swarm.gateway.restart({
    agents: {
      desk: describeSwarm(baseUrl),
      shop: { ...describeShop('preview'), people: { link: true } },
      vault: describeShop({ policy: 'preview', approve: 'operator' }),
      strict: describeShop({ policy: 'preview', remember: 'none' }),
      brief: describeShop({ policy: 'preview', remember: 'conversation', remember_days: 1 }),
    },
    web: { enabled: true, trace: true, auth: { tokens: [token('ann', annsToken), token('bob', bobsToken)] } },
  })
})
afterAll(async () => {
  process.env.TILL = ''
  await swarm.close()
})
beforeEach(() => void readNewTillLines())

/** Returns the lines that the till has recorded since the last call. */
function readNewTillLines(): readonly string[] {
  try {
    const tillLines = readFileSync(tillFile, 'utf8').trim().split('\n')
    const newLines = tillLines.slice(readLineCount)
    readLineCount = tillLines.length
    return newLines
  } catch {
    return []
  }
}

const urlOf = (agent: string, path: string) => `${swarm.gateway.url()}/api/v1/agents/${agent}/${path}`

interface ChatPlan {
  readonly agent: string
  readonly token?: string
}

/** Opens a chat in which a person can ask for a refund, and decide on it. */
async function openTill({ agent, token = annsToken }: ChatPlan) {
  const chat = openChat(urlOf(agent, 'runs'), token)
  const sendText = async (text: string) => {
    chat.addMessage({ id: newName('msg'), role: 'user', content: text })
    const events = await runChat(chat)
    return { events, outcome: outcomeOf(events), answerText: String(chat.messages.at(-1)?.content) }
  }
  if (agent === 'desk') await sendText('I want my money back')
  return {
    sendText,
    threadId: chat.threadId,
    async decide(payload: object) {
      const { outcome } = await sendText('refund order 17, please')
      const [interrupt] = outcome.interrupts ?? []
      if (!interrupt) throw new Error('there is no interrupt')
      const events = await runChat(chat, [{ interruptId: interrupt.id, status: 'resolved', payload }])
      return { interrupt, events, outcome: outcomeOf(events), answerText: String(chat.messages.at(-1)?.content) }
    },
  }
}

type ShownApproval = Pick<ListedDecision, 'id' | 'tool' | 'policy' | 'scope' | 'address'>

async function requestAs(token: string, url: string, method = 'GET') {
  const response = await fetch(url, { method, headers: { authorization: `Bearer ${token}` } })
  const body = (await response.json()) as { readonly approvals?: readonly ShownApproval[]; readonly detail?: string }
  return { status: response.status, ...body }
}

const listOwn = async (agent: string, token = annsToken) =>
  (await requestAs(token, urlOf(agent, 'approvals'))).approvals ?? []
const listAll = (agent: string) =>
  swarm.requestOperator<{ items: readonly ListedDecision[] }>(`/agents/${agent}/approvals`).then(({ items }) => items)

async function revokeAll(agent: string): Promise<void> {
  const url = `${swarm.gateway.url()}/operator/api/agents/${agent}/approvals`
  for (const { id } of await listAll(agent)) await requestAs(operatorToken, `${url}/${id}`, 'DELETE')
}

const agents = ['shop', 'desk'] as const

test.each(agents)(
  'an approval for this conversation runs the tool of %s there, until the approval ends (E-39)',
  async agent => {
    const till = await openTill({ agent })
    const { interrupt, answerText } = await till.decide({ approved: true, remember: 'conversation' })
    expect(interrupt).toMatchObject({
      responseSchema: { properties: { remember: { enum: ['once', 'conversation', 'always'] } } },
    })
    expect(answerText).toBe('The till says refunded:17')
    const { events, answerText: next, outcome } = await till.sendText('refund order 18, please')
    expect([next, outcome.type]).toEqual(['The till says refunded:18', 'success'])
    expect(findEvents(events, 'TOOL_CALL_RESULT')).toMatchObject([{ content: '{"refunded":"18"}' }])
    expect(readNewTillLines()).toEqual(['begun 17', 'done 17', 'begun 18', 'done 18'])

    const otherTill = await openTill({ agent })
    expect((await otherTill.sendText('refund order 19, please')).outcome.type).toBe('interrupt')
    const ownApprovals = await listOwn(agent)
    expect(ownApprovals).toMatchObject([{ tool: 'refund', policy: 'direct', scope: 'conversation' }])
    expect(await requestAs(annsToken, urlOf(agent, `approvals/${ownApprovals[0]?.id}`), 'DELETE')).toMatchObject({
      status: 200,
    })
    expect(await listOwn(agent)).toEqual([])
    expect((await till.sendText('refund order 20, please')).outcome.type).toBe('interrupt')
    expect(readNewTillLines()).toEqual([])
  },
)

test.each(agents)(
  'a permanent approval counts for %s in every conversation of its author only, also after a restart (E-39)',
  async agent => {
    const first = await openTill({ agent })
    await first.decide({ approved: true, remember: 'always' })
    await swarm.gateway.restart()
    const laterTill = await openTill({ agent })
    expect((await laterTill.sendText('refund order 21, please')).answerText).toBe('The till says refunded:21')
    expect(readNewTillLines()).toEqual(['begun 17', 'done 17', 'begun 21', 'done 21'])
    const bob = await openTill({ agent, token: bobsToken })
    expect((await bob.sendText('refund order 22, please')).outcome.type).toBe('interrupt')
    expect(await listOwn(agent, bobsToken)).toEqual([])
    const [ownDecision] = await listOwn(agent)
    const forgedDeletion = await requestAs(bobsToken, urlOf(agent, `approvals/${ownDecision?.id}`), 'DELETE')
    expect([forgedDeletion.status, forgedDeletion.detail]).toEqual([404, 'Cannot answer: you have no such resource'])
    const unknown = await requestAs(annsToken, urlOf(agent, `approvals/${'0'.repeat(32)}`), 'DELETE')
    expect(unknown.status).toBe(404)
    expect(await listOwn(agent)).toHaveLength(1)
    expect(readNewTillLines()).toEqual([])
    await revokeAll(agent)
  },
)

test.each(agents)(
  'a permanent refusal declines later calls of %s without a question, and its model learns of it (E-39)',
  async agent => {
    const till = await openTill({ agent })
    expect((await till.decide({ approved: false, remember: 'always' })).answerText).toContain('It was not allowed.')
    const { outcome, answerText } = await till.sendText('refund order 23, please')
    expect([outcome.type, answerText]).toEqual([
      'success',
      'The till says error:It was not allowed: it was refused before, for all such calls, and nobody is asked again.',
    ])
    expect(readNewTillLines()).toEqual([])
    expect(await listOwn(agent)).toMatchObject([{ policy: 'forbidden', scope: 'always' }])
    await revokeAll(agent)
    expect((await till.sendText('refund order 24, please')).outcome.type).toBe('interrupt')
  },
)

test('a decision for one conversation overrides a decision for all', async () => {
  const till = await openTill({ agent: 'shop' })
  await till.decide({ approved: false, remember: 'conversation' })
  const otherTill = await openTill({ agent: 'shop' })
  await otherTill.decide({ approved: true, remember: 'always' })
  expect((await till.sendText('refund order 25, please')).answerText).toContain('it was refused before')
  expect((await otherTill.sendText('refund order 26, please')).answerText).toBe('The till says refunded:26')
  await revokeAll('shop')
})

test('a decision with an invalid or unoffered scope decides nothing', async () => {
  for (const [agent, remember, words] of [
    ['shop', 'for ever', 'Cannot decide: "remember" must be "once", "conversation" or "always"'],
    ['strict', 'always', 'Cannot decide: this counts once, and is not remembered'],
    ['brief', 'always', 'Cannot decide: this counts once, and is not remembered'],
  ] as const) {
    const till = await openTill({ agent })
    const { interrupt, events, outcome } = await till.decide({ approved: true, remember })
    expect(findEvents(events, 'CUSTOM')).toMatchObject([{ name: 'warning', value: words }])
    expect(outcome.type).toBe('RUN_ERROR')
    expect(await swarm.requestOperator(`/requirements/${interrupt.id}`)).toMatchObject({ state: 'open' })
  }
  expect(readNewTillLines()).toEqual([])
})

const postForm = (path: string, form: Readonly<Record<string, string>>) =>
  fetch(swarm.gateway.url() + path, { method: 'POST', body: new URLSearchParams(form) })

test('a person can make and withdraw a permanent decision on the page of a mail (E-39)', async () => {
  const { mail } = swarm.gateway.simulation
  const sendMail = async (text: string) => {
    const receipt = await mail.deliver({ to: 'shop@agents.test', text })
    return (await mail.awaitReply(receipt.mail.messageId, 30_000)).text ?? ''
  }
  const path = findActionPath(await sendMail('order m1, please'))
  const page = await (await fetch(swarm.gateway.url() + path)).text()
  expect(page).toContain('value="conversation"')
  expect(page).toContain('value="always"')
  const invalidResponse = await postForm(path, { decision: 'grant', remember: 'forever' })
  expect([invalidResponse.status, await invalidResponse.text()]).toEqual([
    400,
    expect.stringContaining('&quot;remember&quot; must be'),
  ])
  const decisionResponse = await postForm(path, { decision: 'grant', remember: 'always' })
  expect([decisionResponse.status, await decisionResponse.text()]).toEqual([
    200,
    expect.stringContaining('runs without asking wherever'),
  ])
  await eventually(async () => mail.received.some(({ text }) => text?.includes('refunded:m1')))
  expect(await sendMail('order m2, please')).toContain('refunded:m2')
  expect(readNewTillLines()).toEqual(['begun m1', 'done m1', 'begun m2', 'done m2'])

  const secondResponse = await postForm(path, { decision: 'ask_again' })
  expect([secondResponse.status, await secondResponse.text()]).toEqual([
    200,
    expect.stringContaining('You will be asked again next time.'),
  ])
  expect(await (await fetch(swarm.gateway.url() + path)).text()).not.toContain('ask_again')
  expect(await sendMail('order m3, please')).toContain('/actions/')
  expect((await postForm(`/actions/${'A'.repeat(43)}`, { decision: 'ask_again' })).status).toBe(404)
  expect(readNewTillLines()).toEqual([])
})

const openTo = ['from', 'subject', 'date', 'message-id']

test.each([
  ['no more than its domain', { from: 'ada@nodmarc.test' }],
  // On a mail directly from the author's own server, To counts as the author's; this mail comes from another server.
  ['who wrote it, not to whom', { from: 'ada@alice.test', signedFields: openTo, envelopeFrom: 'mallory@evil.test' }],
  ['nothing', { from: 'ada@nodmarc.test', sign: false, envelopeFrom: 'mallory@evil.test' }],
] as const)('the gateway does not remember a decision on mail that proves %s', async (_, plan) => {
  const { mail } = swarm.gateway.simulation
  const receipt = await mail.deliver({ ...plan, to: 'shop@agents.test', text: 'order p1, please' })
  const path = findActionPath((await mail.awaitReply(receipt.mail.messageId, 30_000)).text ?? '')
  expect(await (await fetch(swarm.gateway.url() + path)).text()).not.toContain('name="remember"')
  const decisionResponse = await postForm(path, { decision: 'grant', remember: 'always' })
  const text = 'Cannot decide: this counts once, and is not remembered'
  expect([decisionResponse.status, await decisionResponse.text()]).toEqual([403, expect.stringContaining(text)])
  expect(await listAll('shop')).toEqual([])
})

test('a decision does not count for those who write under its author’s name', async () => {
  const { mail } = swarm.gateway.simulation
  const from = 'ada@alice.test'
  const receipt = await mail.deliver({ from, to: 'shop@agents.test', text: 'order q1, please' })
  const path = findActionPath((await mail.awaitReply(receipt.mail.messageId, 30_000)).text ?? '')
  await postForm(path, { decision: 'grant', remember: 'always' })
  await eventually(async () => mail.received.some(({ text }) => text?.includes('refunded:q1')))
  const forgedReceipt = await mail.deliver({
    from,
    to: 'shop@agents.test',
    text: 'order q2, please',
    fault: 'wrong_owner',
  })
  expect(forgedReceipt.answer).toBe(550)
  const list = { 'list-id': '<all.alice.test>', 'list-post': '<mailto:all@alice.test>', precedence: 'list' }
  const byList = await mail.deliver({ from, to: 'shop@agents.test', text: 'order q3, please', headers: list })
  await eventually(async () => (await swarm.gateway.messages()).some(({ id }) => id === byList.mail.messageId))
  expect((await mail.deliver({ from, to: 'shop@agents.test', text: 'order q4, please' })).answer).toBe(250)
  await eventually(async () => readNewTillLines().includes('done q4'))
  expect(readFileSync(tillFile, 'utf8')).not.toMatch(/q[23]/)
  await revokeAll('shop')
})

test('a person can make a permanent decision by the link of a direct fediverse post (E-39)', async () => {
  const { fediverse } = swarm.gateway.simulation
  const sendMail = async (text: string) => {
    const { objectId } = await fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' })
    return JSON.stringify((await fediverse.awaitReply(objectId, 30_000)).activity)
  }
  const path = findActionPath(await sendMail('order f1, please'))
  expect((await postForm(path, { decision: 'grant', remember: 'always' })).status).toBe(200)
  await eventually(async () => (await listAll('shop')).some(({ address }) => address === '@alice@mastodon.test'))
  await eventually(async () =>
    fediverse.received.some(activity => JSON.stringify(activity.activity).includes('refunded:f1')),
  )
  expect(await sendMail('order f2, please')).toContain('refunded:f2')
  expect(readNewTillLines()).toEqual(['begun f1', 'done f1', 'begun f2', 'done f2'])
  await revokeAll('shop')
})

test('an A2A caller can decide for one context or for all (E-39)', async () => {
  const { gateway } = swarm
  const response = await askShop(gateway, 'order a1, please')
  const policy = readPolicy(response)
  const action = (policy.data as Record<string, unknown>)['dev.postern.action']
  expect(action).toMatchObject({ remember: { scopes: ['conversation', 'always'], days: 30 } })
  const decide = (remember: unknown) =>
    askShop(gateway, 'Yes', {
      taskId: response.task?.id ?? '',
      contextId: response.task?.contextId ?? '',
      resolution: { in_reply_to_state: policy.state, remember },
    })
  const wrong = await decide('for ever')
  expect(wrong.error?.violations).toMatchObject([
    {
      field: 'message.metadata.mentionable.policy_resolution.remember',
      description: expect.stringContaining('must be'),
    },
  ])
  const decisionResponse = await decide('conversation')
  expect(JSON.stringify(decisionResponse.task)).toContain('refunded:a1')
  const { contextId = '' } = response.task ?? {}
  expect(JSON.stringify((await askShop(gateway, 'order a2, please', { contextId })).task)).toContain('refunded:a2')
  expect((await askShop(gateway, 'order a3, please')).task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const otherResponse = await askShop(gateway, 'order a4, please', { sub: 'dave' })
  expect(otherResponse.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  expect(readAnswerText(otherResponse)).toContain('Give 20.00 back for order a4?')
  expect(readNewTillLines()).toEqual(['begun a1', 'done a1', 'begun a2', 'done a2'])
  await revokeAll('shop')
})

test('an operator’s decision counts for later calls of the same tool, but not after changed arguments (E-39)', async () => {
  const ann = await openTill({ agent: 'vault' })
  const { outcome } = await ann.sendText('refund order o1, please')
  const [interrupt] = outcome.interrupts ?? []
  const decide = async (body: object) => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const url = `${swarm.gateway.url()}/operator/api/requirements/${interrupt?.id}`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return [response.status, ((await response.json()) as { detail?: string }).detail]
  }
  const changedDecision = { outcome: 'granted', remember: 'always', arguments: { order: 'o9' } }
  expect(await decide(changedDecision)).toEqual([
    400,
    'Cannot decide: a decision with changed arguments counts once and cannot be remembered',
  ])
  expect(await decide({ outcome: 'granted', remember: 'forever' })).toEqual([
    400,
    'Cannot decide: "remember" must be one of once, conversation, always',
  ])
  expect(await decide({ outcome: 'granted', remember: 'always' })).toEqual([200, undefined])
  await eventually(async () => readNewTillLines().includes('done o1'))
  const laterTill = await openTill({ agent: 'vault' })
  expect((await laterTill.sendText('refund order o2, please')).answerText).toBe('The till says refunded:o2')
  const bob = await openTill({ agent: 'vault', token: bobsToken })
  expect((await bob.sendText('refund order o3, please')).outcome.type).toBe('interrupt')
  expect(readNewTillLines()).toEqual(['begun o2', 'done o2'])

  // The decision is the operator's: the person it concerns can neither see nor end it.
  const [storedDecision] = await listAll('vault')
  expect(storedDecision).toMatchObject({ approver: 'operator', resolver: 'operator', tool: 'refund', policy: 'direct' })
  expect(await listOwn('vault')).toEqual([])
  expect((await requestAs(annsToken, urlOf('vault', `approvals/${storedDecision?.id}`), 'DELETE')).status).toBe(404)

  const { gateway } = swarm
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: false })
  const openClient = () =>
    openOperatorClient({
      tree: describeTestConfig(gateway.simulation, gateway.dataDir),
      baseDir: import.meta.dirname,
      missingSettings: [],
      path: undefined,
    })
  const lines: string[] = []
  const output = { openClient, json: false, print: (text: string) => void lines.push(text) }
  await approvalViews.list(output, { agent: 'vault' })
  expect(lines.join()).toMatch(/refund .*direct .*operator .*everywhere/)
  const decision = { agent: 'vault', id: storedDecision?.id ?? '' }
  await approvalViews.revoke(output, decision)
  expect(lines.at(-1)).toBe(`${storedDecision?.id}: revoked`)
  expect((await laterTill.sendText('refund order o4, please')).outcome.type).toBe('interrupt')
  await expect(approvalViews.revoke(output, decision)).rejects.toThrow(
    'Cannot revoke approval: there is no decision with this id',
  )
})

test('a person with a linked mailbox can end mailed decisions in their chat, and cannot without the link', async () => {
  const { mail } = swarm.gateway.simulation
  const from = 'ann@alice.test'
  const till = await openTill({ agent: 'shop' })
  await till.sendText(`link ${from}`)
  const codeOf = () => mail.received.map(({ text }) => /confirm ([A-Z0-9]{5}-[A-Z0-9]{5})/.exec(text ?? '')?.[1])
  const code = await eventually(async () => codeOf().find(Boolean))
  expect((await till.sendText(`confirm ${code}`)).answerText).toContain('is linked with this address')
  const receipt = await mail.deliver({ from, to: 'shop@agents.test', text: 'order l1, please' })
  const path = findActionPath((await mail.awaitReply(receipt.mail.messageId, 30_000)).text ?? '')
  expect((await postForm(path, { decision: 'grant', remember: 'always' })).status).toBe(200)
  const [storedDecision] = await listOwn('shop')
  expect(storedDecision).toMatchObject({ address: '@ann@alice.test', scope: 'always' })
  expect(await listOwn('shop', bobsToken)).toEqual([])
  // The decision counts for mail alone; the same call on another channel is not allowed.
  expect((await till.sendText('refund order l2, please')).outcome.type).toBe('interrupt')
  const otherTill = await openTill({ agent: 'shop' })
  await otherTill.sendText(`unlink ${from}`)
  expect(await listOwn('shop')).toEqual([])
  expect((await requestAs(annsToken, urlOf('shop', `approvals/${storedDecision?.id}`), 'DELETE')).status).toBe(404)
  await eventually(async () => mail.received.some(({ text }) => text?.includes('refunded:l1')))
  await revokeAll('shop')
})

test('an operator cannot store a permanent decision for a person', async () => {
  const till = await openTill({ agent: 'shop' })
  const { outcome } = await till.sendText('refund order 27, please')
  const id = outcome.interrupts?.[0]?.id
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ outcome: 'declined', remember: 'always' })
  const response = await fetch(`${swarm.gateway.url()}/operator/api/requirements/${id}`, {
    method: 'POST',
    headers,
    body,
  })
  expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
    403,
    'Cannot decide: only the party that is asked may have the decision remembered',
  ])
  expect(await listAll('shop')).toEqual([])
})

test('the gateway deletes a permanent decision with its author or its chat', async () => {
  const till = await openTill({ agent: 'shop' })
  await till.decide({ approved: true, remember: 'conversation' })
  await requestAs(annsToken, urlOf('shop', `threads/${till.threadId}`), 'DELETE')
  expect(await listAll('shop')).toEqual([])
  const otherTill = await openTill({ agent: 'shop' })
  await otherTill.decide({ approved: true, remember: 'always' })
  await requestAs(annsToken, urlOf('shop', `threads/${otherTill.threadId}`), 'DELETE')
  expect(await listAll('shop')).toHaveLength(1)
  expect(listTraces(swarm.gateway.dataDir, '@ann@web.agents.test')).toContain('records')
  await swarm.requestOperator('/owners/forget', { owner: 'web:["https://agents.test","ann"]' })
  expect(await listAll('shop')).toEqual([])
})
