import type { AgentAction, AgentReply, OutgoingAction, Part } from '@postern/message'
import { noLog, Unavailable } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import {
  actingAgent,
  createActingChannel,
  createMessageTarget,
  createResponseRecord,
  openActBench,
  postAddressing,
} from '../../test/act-bench.ts'
import { createPartialChannel, describeChannel } from '../../test/channels.ts'
import { createQuietSystem, turn } from '../../test/memory-store.ts'
import type { AgentActions } from '../ports/agent/agent-context.ts'
import type { StoredFiles } from '../ports/turn/action-deps.ts'
import { createActionList, planActions } from './plan-actions.ts'

const textPart: Part = { kind: 'text', mime: 'text/markdown', content: 'news' }
const picture: Part = { kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'YQ==' } }
const storedFile: Part = { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'ab' } }
const blob = { digest: 'ab', bytes: new Uint8Array([97]) }
const storeFiles = (): StoredFiles => ({ parts: [storedFile], blobs: [blob] })
const deliveryPlan = { deliveries: postAddressing.deliveries, broadcasts: postAddressing.broadcasts }

/** Plans one action, and returns the plan with the spies of the log. */
async function planAction(act: AgentAction, options: Parameters<typeof openActBench>[0] = {}, via?: 'a2a' | 'email') {
  const warn = vi.fn()
  const error = vi.fn()
  const bench = openActBench({ ...options, log: { ...noLog, warn, error } })
  const [plan] = await planActions([act], { ...actingAgent, via, message: 'm1' }, bench.publisherDeps)
  return { ...bench, plan, warn, error }
}

describe('planActions() for a post', () => {
  test('creates a synthetic message and a response under the caller’s id', async () => {
    const id = '0123456789abcdef0123456789abcdef'
    const { plan, actions } = await planAction({
      act: 'post',
      id,
      parts: [textPart],
      visibility: 'unlisted',
      subject: 'CW',
    })
    if (plan?.kind !== 'post') throw new Error('it is a post')
    const { syntheticMessage, answer } = plan
    expect(answer.response).toEqual({
      id,
      thread_id: id,
      in_reply_to: `post:${id}`,
      sender: '@echo@agents.test',
      parts: [textPart],
      status: 'completed',
      visibility: 'unlisted',
      subject: 'CW',
      created_at: '1970-01-01T00:00:00.000Z',
    })
    expect(answer).toMatchObject({
      ...deliveryPlan,
      aliases: postAddressing.aliases,
      isListed: true,
      rendering: { pieces: 2 },
    })
    expect(syntheticMessage).toMatchObject({
      agent: 'echo',
      disposition: 'keep',
      duplicateKey: `post:${id}`,
      flags: ['post'],
    })
    expect(syntheticMessage.message).toMatchObject({
      id: `post:${id}`,
      thread_source: id,
      received_via: 'activitypub',
      parts: [],
    })
    expect(syntheticMessage.thread).toEqual({ scope: 'public', references: [] })
    expect(actions).toEqual([{ act: 'post', agent: 'echo', response: answer.response }])
  })

  test('makes text, subject and alt texts well-formed', async () => {
    const alt: Part = { kind: 'file', description: '\ude00', bytes_ref: { kind: 'inline', data_base64: 'YQ==' } }
    const { plan } = await planAction({
      act: 'post',
      parts: [{ ...textPart, content: 'a\ud83d' }, alt],
      subject: '\ud83d',
    })
    expect(plan).toMatchObject({
      answer: { response: { parts: [{ content: 'a\ufffd' }, { description: '\ufffd' }], subject: '\ufffd' } },
    })
  })

  test('assigns an id, and a separate scope if the post is not public', async () => {
    const address = () => ({ ...postAddressing, isListed: false })
    const { plan } = await planAction(
      { act: 'post', parts: [textPart] },
      { channels: [createPartialChannel('activitypub', { actions: { address } })] },
    )
    if (plan?.kind !== 'post') throw new Error('it is a post')
    const { id } = plan.answer.response
    expect(id).toMatch(/^[0-9a-f]{12}(?:07){10}$/)
    expect(plan.syntheticMessage.thread.scope).toBe(`post:${id}`)
  })

  test('chooses the channel of the answered message if it can post, or else the first channel that can', async () => {
    const actions: OutgoingAction[] = []
    const channels = [
      createActingChannel('activitypub', actions),
      createActingChannel('email', actions),
      createPartialChannel('a2a'),
    ]
    for (const [via, expected] of [
      ['email', 'email'],
      ['a2a', 'activitypub'],
    ] as const) {
      const { plan } = await planAction({ act: 'post', parts: [textPart] }, { channels }, via)
      expect(plan?.kind === 'post' && plan.syntheticMessage.message.received_via).toBe(expected)
    }
  })

  test('stores bytes of parts only for a channel that links files', async () => {
    const act = { act: 'post', parts: [picture] } as const
    const withInlineFile = await planAction({ ...act, parts: [picture] }, { storeFiles })
    expect(withInlineFile.plan).toMatchObject({ answer: { response: { parts: [picture] }, blobs: [] } })
    const channels = [
      createActingChannel('activitypub', [], { descriptor: describeChannel('activitypub', { addressesFiles: true }) }),
    ]
    const withStoredFile = await planAction({ ...act, parts: [picture] }, { storeFiles, channels })
    expect(withStoredFile.plan).toMatchObject({ answer: { response: { parts: [storedFile] }, blobs: [blob] } })
    const withoutFileStore = await planAction({ ...act, parts: [picture] }, { channels })
    expect(withoutFileStore.plan).toMatchObject({ answer: { response: { parts: [picture] }, blobs: [] } })
  })
})

describe('planActions() for an edit or a deletion', () => {
  const responses = [
    createResponseRecord('mine'),
    createResponseRecord('of another', { agent: 'help' }),
    createResponseRecord('gone', { retractedAt: '2026-01-01T00:00:00.000Z' }),
    createResponseRecord('by mail', { via: 'email' }),
  ]

  test('keeps every member of the response except its text', async () => {
    const { plan, actions } = await planAction({ act: 'edit', response: 'mine', parts: [textPart] }, { responses })
    const response = { ...createResponseRecord('mine').response, parts: [textPart] }
    expect(plan).toEqual({ kind: 'edit', response, blobs: [], deliveryPlan })
    expect(actions).toMatchObject([
      { act: 'edit', agent: 'echo', id: '07'.repeat(8), response, target: { inbox: 'x' }, rendering: { pieces: 1 } },
    ])
  })

  test('stores files of an edit if its channel links them', async () => {
    const channels = [
      createActingChannel('activitypub', [], { descriptor: describeChannel('activitypub', { addressesFiles: true }) }),
    ]
    const act: AgentAction = { act: 'edit', response: 'mine', parts: [picture] }
    const { plan } = await planAction(act, { responses, storeFiles, channels })
    expect(plan).toMatchObject({ response: { parts: [storedFile] }, blobs: [blob] })
  })

  test('addresses a deletion to the recipients of the deleted post', async () => {
    const { plan, actions } = await planAction({ act: 'delete', response: 'mine' }, { responses })
    expect(plan).toEqual({ kind: 'delete', response: 'mine', deliveryPlan })
    expect(actions).toMatchObject([{ act: 'delete', response: { parts: [{ content: 'old' }] } }])
  })

  test.each(['unknown', 'of another', 'gone', 'by mail'])(
    'omits an action on a response that is %s, and reports it',
    async response => {
      const acts: AgentAction[] = [
        { act: 'edit', response, parts: [textPart] },
        { act: 'delete', response },
      ]
      for (const act of acts) {
        const { plan, actions, warn } = await planAction(act, { responses })
        expect([plan, actions]).toEqual([undefined, []])
        expect(warn).toHaveBeenCalledExactlyOnceWith(
          { agent: 'echo', act: act.act },
          'an act of an agent cannot be done here',
        )
      }
    },
  )
})

describe('planActions() for a reaction', () => {
  const messages = { m1: createMessageTarget(1), m2: createMessageTarget(2) }

  test('reacts to the turn’s message, unless the agent names another', async () => {
    const { plan, actions } = await planAction({ act: 'like' }, { messages })
    expect(plan).toEqual({ kind: 'react', message: 1, deliveryPlan })
    expect(actions).toEqual([
      { act: 'like', agent: 'echo', target: messages.m1.target, at: '1970-01-01T00:00:00.000Z' },
    ])
    expect((await planAction({ act: 'boost', message: 'm2' }, { messages })).plan).toMatchObject({ message: 2 })
  })

  test('omits a reaction to a message that the agent never received', async () => {
    const { plan, warn } = await planAction({ act: 'like', message: 'm3' }, { messages })
    expect(plan).toBeUndefined()
    expect(warn).toHaveBeenCalledOnce()
  })
})

describe('planActions() for an unsupported action', () => {
  const channels = [createPartialChannel('activitypub')]
  const refusingChannels = [createPartialChannel('activitypub', { actions: { address: () => undefined } })]
  const acts: readonly AgentAction[] = [
    { act: 'post', parts: [textPart] },
    { act: 'edit', response: 'mine', parts: [textPart] },
    { act: 'delete', response: 'mine' },
    { act: 'like' },
  ]

  test.each(acts)('omits $act', async act => {
    const stored = { responses: [createResponseRecord('mine')], messages: { m1: createMessageTarget(1) } }
    expect((await planAction(act, { ...stored, channels })).plan).toBeUndefined()
    expect((await planAction(act, { ...stored, channels: [...refusingChannels] })).plan).toBeUndefined()
    expect((await planAction(act, { ...stored, channels: [] })).plan).toBeUndefined()
  })

  test('omits only the action for which the channel throws', async () => {
    const channelError = new TypeError('target is null')
    const error = vi.fn()
    const { publisherDeps } = openActBench({
      channels: [
        {
          descriptor: describeChannel('activitypub'),
          actions: {
            address(action) {
              if (action.act === 'post') return postAddressing
              throw channelError
            },
          },
        },
      ],
      messages: { m1: createMessageTarget(1) },
      log: { ...noLog, error },
    })
    const plans = await planActions(
      [
        { act: 'like', message: 'm1' },
        { act: 'post', parts: [textPart] },
      ],
      actingAgent,
      publisherDeps,
    )
    expect(plans.map(({ kind }) => kind)).toEqual(['post'])
    expect(error).toHaveBeenCalledWith(
      { agent: 'echo', act: 'like', err: channelError },
      'an act of an agent cannot be addressed',
    )
  })

  test('throws for all actions while the store does not answer', async () => {
    const { publisherDeps } = openActBench()
    vi.spyOn(publisherDeps.store, 'findMessageTo').mockRejectedValue(new Unavailable('Cannot read now'))
    await expect(planActions([{ act: 'like', message: 'm1' }], actingAgent, publisherDeps)).rejects.toThrow(
      'Cannot read now',
    )
  })
})

test('planActions() removes the names of strangers from a reply if the platform notifies everybody whom a text names', async () => {
  const actions: OutgoingAction[] = []
  const inline = { ...turn(1).content, recipient_capabilities: { mention_relay: { kind: 'inline' } } } as const
  const { publisherDeps } = openActBench({
    conversations: { t: { message: 1, scope: 's', key: 't' } },
    turns: { 1: { content: inline, via: 'a2a' } },
    channels: [createActingChannel('a2a', actions, { address: () => postAddressing })],
  })
  const parts: Part[] = [
    { kind: 'text', mime: 'text/markdown', content: `Ask @guest@elsewhere.test, ${inline.sender.address}.` },
  ]
  const [plan] = await planActions(
    [{ act: 'reply', thread: 't', parts } satisfies AgentReply],
    actingAgent,
    publisherDeps,
  )
  const response = plan?.kind === 'post' ? plan.answer.response : undefined
  expect(response?.parts).toMatchObject([{ content: `Ask guest@elsewhere.test, ${inline.sender.address}.` }])
})

function openList() {
  let createdCount = 0
  const randomBytes = (count: number) => new Uint8Array(count).fill(++createdCount)
  return createActionList(createQuietSystem({ randomBytes }))
}

describe('createActionList()', () => {
  test('collects the actions of an agent in order, and treats a string as Markdown', () => {
    const list = openList()
    const id = list.post('news', { visibility: 'direct', mentions: ['@ada@peer.test'], subject: 'CW' })
    const link: Part = { kind: 'link', url: 'https://peer.test/' }
    list.edit(String(id), [link])
    list.delete(String(id))
    list.react('boost')
    list.react('unlike', 'm1')
    const parts = [{ kind: 'text', mime: 'text/markdown', content: 'news' }]
    expect(list.actions).toEqual([
      { act: 'post', id, parts, visibility: 'direct', mentions: ['@ada@peer.test'], subject: 'CW' },
      { act: 'edit', response: id, parts: [link] },
      { act: 'delete', response: id },
      { act: 'boost', message: undefined },
      { act: 'unlike', message: 'm1' },
    ])
  })

  test('gives every post its own id', () => {
    const list = openList()
    const ids = [list.post('one'), list.post('two')]
    expect(ids).toEqual(['01', '02'].map(byte => '0'.repeat(12) + byte.repeat(10)))
  })

  test('ignores an id in the options of a post', () => {
    const list = openList()
    const id = list.post('one', { id: 'ff'.repeat(16), parts: [], act: 'delete' } as object)
    expect(list.actions).toMatchObject([{ act: 'post', id, parts: [{ content: 'one' }] }])
  })

  test.each<[string, (acts: AgentActions) => unknown]>([
    ['a post without parts', acts => acts.post([])],
    ['a malformed part', acts => acts.post([{ kind: 'text' } as Part])],
    ['an unknown visibility', acts => acts.post('x', { visibility: 'secret' as 'public' })],
    ['an edit without parts', acts => acts.edit('r1', [])],
    ['a deletion without an id', acts => acts.delete(undefined as unknown as string)],
    ['an unknown reaction', acts => acts.react('hug' as 'like')],
  ])('throws on %s at the call of the agent', (_what, act) => {
    const list = openList()
    expect(() => act(list)).toThrow(Error)
    expect(list.actions).toEqual([])
  })

  test('allows an agent at most fifty actions in one turn', () => {
    const list = openList()
    for (let count = 0; count < 50; count++) list.react('like')
    expect(() => list.react('like')).toThrow('an agent may do at most 50 things in one turn')
    expect(list.actions).toHaveLength(50)
  })
})
