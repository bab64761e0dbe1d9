import type { AgentAction, Part } from '@postern/message'
import { noLog, refuseAct } from '@postern/message'
import { describe, expect, test } from 'vitest'
import {
  actingAgent,
  createMessageTarget,
  createResponseRecord,
  openActBench,
  postAddressing,
} from '../../test/act-bench.ts'
import { createPartialChannel } from '../../test/channels.ts'
import { turn } from '../../test/memory-store.ts'
import { createPublisher, performActions } from './publisher.ts'

const textPart: Part = { kind: 'text', mime: 'text/markdown', content: 'news' }
const unknownResponsePattern = /^Cannot (edit|delete) "\w+": this agent has no answer or post with this id$/

function openPublisher(options: Parameters<typeof openActBench>[0] = {}) {
  const bench = openActBench(options)
  const { signal } = new AbortController()
  return {
    ...bench,
    publisher: createPublisher({ actingAgent, gateway: bench.publisherDeps, signal, log: noLog }),
  }
}

describe('performActions()', () => {
  test('performs all actions in one commit with one correlation id', async () => {
    const { publisherDeps, storedActions } = openActBench({ responses: [createResponseRecord('r1')] })
    await performActions(
      [
        { act: 'post', parts: [textPart] },
        { act: 'delete', response: 'r1' },
      ],
      actingAgent,
      publisherDeps,
    )
    expect(storedActions).toMatchObject([
      { correlationId: '07'.repeat(8), acts: [{ kind: 'post' }, { kind: 'delete' }] },
    ])
  })

  test('performs no action if one of them is impossible', async () => {
    const { publisherDeps, storedActions } = openActBench()
    const acts: AgentAction[] = [
      { act: 'post', parts: [textPart] },
      { act: 'delete', response: 'unknown' },
    ]
    const refused = { name: 'Rejection', code: 'no_recipient', message: expect.stringMatching(unknownResponsePattern) }
    await expect(performActions(acts, actingAgent, publisherDeps)).rejects.toMatchObject(refused)
    expect(storedActions).toEqual([])
  })
})

describe('a publisher', () => {
  test('posts, edits, deletes and reacts immediately', async () => {
    const { publisher, storedActions } = openPublisher({
      responses: [createResponseRecord('r1')],
      messages: { m1: createMessageTarget(1) },
    })
    const id = await publisher.post('news', { visibility: 'public' })
    expect(storedActions[0]?.acts).toMatchObject([{ kind: 'post', answer: { response: { id, visibility: 'public' } } }])
    await publisher.edit('r1', 'new')
    await publisher.delete('r1')
    await publisher.react('like', 'm1')
    expect(storedActions.map(({ acts }) => acts[0]?.kind)).toEqual(['post', 'edit', 'delete', 'react'])
  })

  test('returns a refusal to the agent and records it for the operator', async () => {
    const { publisher, storedActions, refusals } = openPublisher({ channels: [createPartialChannel('activitypub')] })
    const results = [
      await publisher.post('news'),
      await publisher.edit('r1', 'new'),
      await publisher.react('like', 'm1'),
    ]
    const messages = [
      /^Cannot post: no open channel has posts\. Open channels: activitypub$/,
      unknownResponsePattern,
      /^Cannot like "m1": this agent got no message with this id$/,
    ]
    expect(results).toMatchObject(messages.map(each => ({ refused: true, message: expect.stringMatching(each) })))
    expect(storedActions).toEqual([])
    expect(refusals).toMatchObject(
      ['post', 'edit', 'like'].map((act, at) => {
        const reason = expect.stringMatching(messages[at] ?? '')
        return {
          agent: 'echo',
          claimed_sender: actingAgent.address,
          endpoint: `act: ${act}`,
          via: 'activitypub',
          reason,
        }
      }),
    )
  })

  test('rejects malformed actions', async () => {
    const { publisher, storedActions } = openPublisher({ responses: [createResponseRecord('r1')] })
    await expect(publisher.post([])).rejects.toThrow(Error)
    await expect(publisher.post([{ kind: 'text' } as Part])).rejects.toThrow(Error)
    await expect(publisher.edit('r1', [])).rejects.toThrow(Error)
    expect(storedActions).toEqual([])
  })
})

describe('the reply function of a publisher', () => {
  const conversations = { t1: { message: 1, scope: 'v:alice', key: 'k1', author: 'https://peer.test/alice' } }

  test('replies to the last message of the conversation, in the same thread', async () => {
    const answeredMessages: string[] = []
    const channel = createPartialChannel('activitypub', {
      address: ({ turn, response }) => {
        answeredMessages.push(`${turn.content.id} ${response.in_reply_to}`)
        return postAddressing
      },
    })
    const { publisher, storedActions } = openPublisher({ conversations, channels: [channel] })
    const id = await publisher.reply('t1', 'It is ready.')
    const { content } = turn(1)
    expect(answeredMessages).toEqual([`${content.id} ${content.id}`])
    expect(storedActions[0]?.acts).toMatchObject([
      {
        kind: 'post',
        syntheticMessage: {
          message: { id: `reply:${id}`, sender: content.sender, parts: [] },
          thread: { scope: 'v:alice', joined: { id: turn(1).thread, via: turn(1).via, key: 'k1' } },
          authorship: { author: 'https://peer.test/alice', object: `reply:${id}` },
          disposition: 'keep',
          flags: ['post'],
        },
        answer: { response: { id, in_reply_to: content.id }, deliveries: postAddressing.deliveries },
      },
    ])
  })

  test('returns a refusal for an unknown conversation, a closed or refusing channel, and an empty text', async () => {
    const refusal = refuseAct('forbidden', 'Cannot reply: not here', 'email.write_to')
    const channels = [createPartialChannel('activitypub', { actions: { addressReply: async () => refusal } })]
    const { publisher, storedActions, refusals } = openPublisher({ conversations, channels })
    expect(await publisher.reply('t2', 'words')).toMatchObject({ refused: true, code: 'no_recipient' })
    expect(await publisher.reply('t1', 'words')).toMatchObject(refusal)
    expect(await publisher.reply('t1', ' \n')).toMatchObject({ refused: true, code: 'malformed' })
    const closedChannel = openPublisher({ conversations, channels: [createPartialChannel('email')] })
    expect(await closedChannel.publisher.reply('t1', 'words')).toMatchObject({ refused: true, code: 'unsupported' })
    expect([...storedActions, ...closedChannel.storedActions]).toEqual([])
    expect(refusals.map(({ endpoint }) => endpoint)).toEqual(['act: reply', 'act: reply', 'act: reply'])
  })
})
