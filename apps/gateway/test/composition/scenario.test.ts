import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { eve, evesToken, findEvents, newName, openChat, outcomeOf, runChat } from '../setup/operator-gateway.ts'
import { annsToken } from '../setup/swarm-gateway.ts'
import { picture } from '../swarm/picture.ts'
import type { Gateways } from './gateways.ts'
import { openGateways, settle } from './gateways.ts'

// This test takes a picture from the fediverse through the whole gateway. A swarm's manager plans and consults other agents, one of them on
// another host. An operator changes and allows a call in their chat. The answer leaves on the fediverse and by mail, and every format
// exports and imports the conversation.

const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
const png = Buffer.from(picture, 'base64')
const alice = 'https://mastodon.test/users/alice'
let gateways: Gateways
let model: ModelServer

beforeAll(async () => {
  process.env.TILL = tillFile
  model = await openModelServer(({ body: { messages } }) => {
    const { role, content } = messages.at(-1) ?? {}
    if (/^I am triage\./m.test(String(messages[0]?.content))) return respondWithToolCall('navigate_to_refunds', {})
    if (role !== 'tool') return respondWithToolCall('consult', { order: '17' })
    if (String(content).includes('refunded')) return replyWith('The money for your lamp is on its way.')
    return respondWithToolCall('refund', { order: '17' })
  })
  const agentConfig = {
    use: 'swarm',
    default_agent: 'triage',
    people: { link: true, mail: 'decided' },
    model: { base_url: model.baseUrl, model: 'test-model' },
    members: {
      triage: { prompt: 'I am triage.', navigates_to: ['refunds'] },
      refunds: {
        prompt: 'I am refunds.',
        tools: '../agents/asking/refund-desk.ts',
        tool_policies: { refund: { policy: 'preview', approve: 'operator', notify: eve } },
      },
    },
  }
  const worker = { use: '../agents/calling/foreman.ts' }
  const token = (name: string, text: string) => ({ name, sha256: hash('sha256', text) })
  gateways = await openGateways({
    'a.test': {
      agents: { desk: agentConfig, ledger: worker },
      email: { write_to: [eve] },
      web: {
        enabled: true,
        trace: true,
        auth: { tokens: [token('ann', annsToken), token('eve', evesToken)] },
        operators: [{ token: 'eve' }],
      },
    },
    'b.test': { agents: { stock: worker } },
  })
})
afterAll(async () => {
  process.env.TILL = ''
  await gateways.close()
  await model.close()
})

const url = (path: string) => gateways.url('a.test') + path
const codeIn = (text: string) => /\b[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}\b/.exec(text)?.[0]

async function operate<Answer>(path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${'x'.repeat(20)}` }
  const response = await fetch(url(`/operator/api${path}`), {
    headers,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  expect(response.status, path).toBe(200)
  return (await response.json()) as Answer
}

async function askAsAnn<Answer>(path: string, method = 'GET', body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${annsToken}` }
  const response = await fetch(url(path), { method, headers, ...(body && { body: JSON.stringify(body) }) })
  expect(response.status, path).toBe(200)
  return (await response.json()) as Answer
}

const chat = <Answer>(path: string) => askAsAnn<Answer>(`/api/v1/agents/desk${path}`)

interface Note {
  readonly inReplyTo?: string
  readonly content: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly tag: readonly { readonly type: string; readonly href: string; readonly name: string }[]
}

const notes = (): readonly Note[] =>
  gateways.simulation.fediverse.received.flatMap(({ activity, verified }) =>
    verified && activity.type === 'Create' ? [activity.object as Note] : [],
  )
const mailsTo = (address: string) =>
  gateways.simulation.mail.received.filter(({ envelope }) => envelope.to.includes(address))

/** Links Alice’s account, her mailbox and her chat as one person, with the codes that each of them received. */
async function linkAll(): Promise<void> {
  const { fediverse } = gateways.simulation
  const deliverText = (text: string) => fediverse.deliver({ to: 'desk@a.test', text, visibility: 'direct' })
  await deliverText('link alice@alice.test')
  const mailed = await eventually(async () => mailsTo('alice@alice.test').map(({ text }) => codeIn(text ?? ''))[0])
  const { objectId } = await deliverText(`confirm ${mailed}`)
  await fediverse.awaitReply(objectId, 30_000)
  const linking = openChat(url('/api/v1/agents/desk/runs'), annsToken)
  linking.addMessage({ id: newName('msg'), role: 'user', content: 'link acct:alice@mastodon.test' })
  await runChat(linking)
  const postedCode = await eventually(async () => notes().flatMap(({ content }) => codeIn(content) ?? [])[0])
  linking.addMessage({ id: newName('msg'), role: 'user', content: `confirm ${postedCode}` })
  await runChat(linking)
}

type Row = Readonly<Record<string, unknown>>
type Envelope = Row & { readonly payload: Row; readonly metadata: Row }

/** Lists the envelopes of a refund: the call, the pending action in place of its result, and the result. */
const listRefund = (envelopes: readonly Envelope[]) =>
  envelopes.filter(({ payload }) => payload.tool_name === 'refund' || payload.kind === 'refund')

test('a fediverse picture passes a swarm, local and remote workers and an operator, then leaves by fediverse and mail in every format', async () => {
  await linkAll()
  const { fediverse } = gateways.simulation
  const { objectId, activityId } = await fediverse.deliver({
    to: '@desk@a.test',
    text: 'My lamp is broken, look',
    visibility: 'public',
    files: [{ name: 'the lamp', mediaType: 'image/png', bytes: png }],
  })
  const activity = await fediverse.awaitReply(objectId, 30_000)
  expect((activity.activity.object as unknown as Note).content).toContain('A person has to allow this first.')
  expect(JSON.stringify(activity.activity)).not.toMatch(/actions\/|Give 20/)

  // The agent gets the post, here and on the other host.
  const records = await gateways.records('a.test', 'desk')
  const mention = records.find(({ message }) => message.id === activityId)?.message
  expect(mention).toMatchObject({
    sender: { address: '@alice@mastodon.test', auth_method: 'ap-http-signature', verified: true },
    recipient: '@desk@a.test',
    received_via: 'activitypub',
    recipient_capabilities: { mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true } },
    parts: [
      { kind: 'text', content: 'My lamp is broken, look' },
      { kind: 'file', mime: 'image/png', size: png.length },
    ],
  })
  const hops = await gateways.records('b.test', 'stock')
  expect(hops.map(({ message }) => message)).toMatchObject([
    {
      sender: { verified: true },
      received_via: 'a2a',
      recipient_capabilities: { mention_relay: { kind: 'none' }, agent_chain: { hop: 1 } },
    },
  ])

  // In envelopes, the pending action stands in place of the result, and nothing has run.
  const readTranscript = async (format: string) =>
    (await operate<{ messages: readonly Row[] }>(`/transcript?${new URLSearchParams({ format, thread: activityId })}`))
      .messages
  const pending = listRefund((await readTranscript('envelope')) as readonly Envelope[])
  expect(pending.map(({ type, role }) => [type, role])).toEqual([
    ['tool_call', 'assistant'],
    ['approval_required', 'tool'],
  ])
  expect(pending[1]?.payload).toMatchObject({ kind: 'refund', status: 'pending', arguments: ['order'] })
  expect(existsSync(tillFile)).toBe(false)

  // The operator's web chat shows an interrupt with the call. The operator changes the call and allows it.
  const operator = openChat(url('/api/v1/operator/runs'), evesToken, 'approvals')
  const [interrupt] = outcomeOf(await runChat(operator)).interrupts ?? []
  expect(interrupt).toMatchObject({
    reason: 'tool_call',
    message: 'Give 20.00 back for order 17?',
    metadata: { address: '@alice@mastodon.test', via: 'activitypub', tool: 'refund', arguments: { order: '17' } },
  })
  const payload = { approved: true, editedArgs: { order: '18' } }
  const decisionEvents = await runChat(operator, [{ interruptId: String(interrupt?.id), status: 'resolved', payload }])
  expect(findEvents(decisionEvents, 'TOOL_CALL_RESULT')).toMatchObject([
    { toolCallId: interrupt?.toolCallId, content: '{"refunded":"18"}' },
  ])
  expect(outcomeOf(decisionEvents).type).toBe('success')
  await settle(gateways, ['a.test', 'b.test'])
  expect(readFileSync(tillFile, 'utf8')).toBe('begun 18\ndone 18\n')

  // The person gets the answer on the fediverse and in their linked mailbox, once each.
  const words = 'The money for your lamp is on its way.'
  const answers = notes().filter(({ content }) => content.includes(words))
  expect(answers).toMatchObject([{ inReplyTo: objectId, tag: [{ type: 'Mention', href: alice }] }])
  expect([...(answers[0]?.to ?? []), ...(answers[0]?.cc ?? [])]).toContain(alice)
  const copies = gateways.simulation.mail.received.filter(({ text }) => text?.includes(words))
  expect(copies.map(({ envelope }) => envelope.to)).toEqual([['alice@alice.test']])
  expect(mailsTo(eve)).toHaveLength(1)

  // The chat of the person who linked the account has the history, with her picture by bucket and path.
  const { threads } = await chat<{ threads: readonly Row[] }>('/threads')
  const threadId = String(threads.find(({ via }) => via === 'activitypub')?.threadId)
  const { messages: history } = await chat<{ messages: readonly Row[] }>(
    `/history?threadId=${encodeURIComponent(threadId)}`,
  )
  const first = history.find(({ content }) => content === 'My lamp is broken, look')
  const location = (first?.metadata as Record<string, Record<string, string>> | undefined)?.user_message_attachments
  expect(location).toEqual({ bucket: expect.any(String), path: expect.any(String), mime_type: 'image/png' })
  const { bucket = '', path = '' } = location ?? {}
  const signedResponse = await fetch(
    url(`/api/v1/agent/attachments/signed-url?${new URLSearchParams({ bucket, path })}`),
    {
      headers: { authorization: `Bearer ${annsToken}` },
    },
  )
  const { pathname, search } = new URL(((await signedResponse.json()) as { url: string }).url)
  expect(Buffer.from(await (await fetch(url(pathname + search))).arrayBuffer())).toEqual(png)
  expect(history.at(-1)).toMatchObject({ role: 'assistant', content: words, metadata: { via: 'activitypub' } })

  // In envelopes, the call, the pending action, the decision and the result appear in this order.
  const envelopes = (await readTranscript('envelope')) as readonly Envelope[]
  const ofRefund = listRefund(envelopes)
  expect(ofRefund.map(({ type }) => type)).toEqual(['tool_call', 'approval_required', 'tool_result'])
  expect(ofRefund[1]?.payload).toMatchObject({ kind: 'refund', status: 'pending', arguments: ['order'] })
  expect(ofRefund[2]).toMatchObject({
    payload: { success: true, tool_data: { refunded: '18' } },
    metadata: { action_status: 'accepted', tool_call_id: interrupt?.toolCallId },
  })
  expect(envelopes.at(-1)).toMatchObject({ type: 'text', role: 'assistant', content: words })

  // A message store has four views.
  const view = async (name: string, query: Record<string, string> = {}) =>
    (
      await operate<{ messages: readonly Row[] }>(
        `/transcript/views/${name}?${new URLSearchParams({ thread: activityId, ...query })}`,
      )
    ).messages
  const typesOf = (rows: readonly Row[]) => rows.map(({ type }) => type)
  const conversation = await view('conversation')
  expect(conversation[0]).toMatchObject({ type: 'user_message' })
  expect(conversation.at(-1)).toMatchObject({ type: 'assistant_message', content: words })
  const manager = await view('agent', { agent_key: 'refunds' })
  expect(typesOf(manager)).toEqual(expect.arrayContaining(['strategic_plan', 'delegation', 'observation', 'action']))
  const delegations = manager.filter(({ type }) => type === 'delegation')
  expect(delegations.map(({ worker }) => worker).toSorted()).toEqual(['@ledger@a.test', '@stock@b.test'])
  const global = await view('global')
  expect(typesOf(global)).toEqual(['global_observation', 'global_observation', 'synthesis'])
  expect(JSON.stringify(global.at(-1))).toContain('@stock@b.test has done')
  expect(typesOf(await view('team', { agent_key: 'refunds' }))).toEqual(expect.arrayContaining(['delegation']))

  // A session of envelopes contains the same.
  const { session_id } = await askAsAnn<{ session_id: string }>('/v1/sessions', 'POST', { agent_slug: 'desk' })
  const session = `/v1/sessions/${session_id}`
  await askAsAnn(session, 'PUT', { messages: envelopes })
  const { messages: storedMessages } = await askAsAnn<{ messages: readonly Envelope[] }>(session)
  expect(storedMessages.map(({ type, role, content, payload }) => ({ type, role, content, payload }))).toEqual(
    envelopes.map(({ type, role, content, payload }) => ({ type, role, content, payload })),
  )

  // The swarm format shows the speakers and the handovers.
  const swarm = await readTranscript('swarm')
  expect(
    swarm.some(
      ({ agentName, tool_calls }) =>
        agentName === 'triage' && JSON.stringify(tool_calls)?.includes('navigate_to_refunds'),
    ),
  ).toBe(true)
  expect(swarm.at(-1)).toMatchObject({ role: 'assistant', agentName: 'refunds', content: words })

  // The conversation has the same text wherever it is read.
  const waiting = 'A person has to allow this first. The answer follows as soon as that is decided.'
  const texts = ['user: My lamp is broken, look', 'user: An operator agreed: Allow refund?', `assistant: ${words}`]
  const tell = (role: unknown, content: unknown) => {
    const [first] = Array.isArray(content) ? (content as readonly Row[]) : []
    return `${role}: ${first?.content ?? content}`
  }
  expect(history.map(({ role, content }) => tell(role, content))).toEqual(
    texts.toSpliced(1, 0, `assistant: ${waiting}`),
  )
  expect(conversation.map(({ type, content }) => tell(String(type).replace('_message', ''), content))).toEqual(texts)
  const spoken = envelopes.filter(
    ({ type, role }) => /^(text|multimodal_part)$/.test(String(type)) && role !== 'system',
  )
  expect(spoken.map(({ role, content }) => tell(role, content))).toEqual(texts)
  const synthesis = global.at(-1)?.content
  const rows = swarm.filter(({ role, content }) => /^(user|assistant)$/.test(String(role)) && content !== '')
  expect(rows.filter(({ content }) => content !== synthesis).map(({ role, content }) => tell(role, content))).toEqual(
    texts,
  )

  // Importing each export again changes nothing.
  const transcript = await readTranscript('jsonl')
  expect(transcript.find(({ kind, tool }) => kind === 'tool_result' && (tool as Row).name === 'refund')).toMatchObject({
    tool: { args: { order: '18' }, result: { refunded: '18' } },
  })
  for (const format of exchangeFormats) {
    const messages = await readTranscript(format)
    expect(JSON.stringify(messages), format).toContain(words)
    const query = new URLSearchParams({ format, thread: activityId })
    expect((await operate<{ added: number }>(`/transcript?${query}`, { messages })).added, format).toBe(0)
  }
  expect(await readTranscript('jsonl')).toEqual(transcript)
}, 60_000)
