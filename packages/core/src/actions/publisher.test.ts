import { describe, expect, test } from 'vitest'
import { acting, foundMessage, foundResponse, openActBench } from '../../test/act-bench.ts'
import { sketchChannel } from '../../test/channels.ts'
import { quietLog } from '../../test/memory-store.ts'
import type { AgentAction } from '../message/agent-action.ts'
import type { Part } from '../message/part.ts'
import { createPublisher, performActions } from './publisher.ts'

const words: Part = { kind: 'text', mime: 'text/markdown', content: 'news' }
const cannot = {
  name: 'Rejection',
  code: 'unsupported',
  message: 'Cannot act: there is no such response or message, or no channel for it',
}

function openPublisher(sketch: Parameters<typeof openActBench>[0] = {}) {
  const bench = openActBench(sketch)
  const { signal } = new AbortController()
  return { ...bench, publisher: createPublisher({ acting, gateway: bench.gateway, signal, log: quietLog }) }
}

describe('performActions()', () => {
  test('performs all actions in one commit, under one correlation id', async () => {
    const { gateway, done } = openActBench({ responses: [foundResponse('r1')] })
    await performActions(
      [
        { act: 'post', parts: [words] },
        { act: 'delete', response: 'r1' },
      ],
      acting,
      gateway,
    )
    expect(done).toMatchObject([{ correlationId: '07'.repeat(8), acts: [{ kind: 'post' }, { kind: 'delete' }] }])
  })

  test('does nothing when one of them cannot be done', async () => {
    const { gateway, done } = openActBench()
    const acts: AgentAction[] = [
      { act: 'post', parts: [words] },
      { act: 'delete', response: 'unknown' },
    ]
    await expect(performActions(acts, acting, gateway)).rejects.toMatchObject(cannot)
    expect(done).toEqual([])
  })
})

describe('a publisher', () => {
  test('posts, edits, deletes and reacts at once', async () => {
    const { publisher, done } = openPublisher({ responses: [foundResponse('r1')], messages: { m1: foundMessage(1) } })
    const id = await publisher.post('news', { visibility: 'public' })
    expect(done[0]?.acts).toMatchObject([{ kind: 'post', answer: { response: { id, visibility: 'public' } } }])
    await publisher.edit('r1', 'new')
    await publisher.delete('r1')
    await publisher.react('like', 'm1')
    expect(done.map(({ acts }) => acts[0]?.kind)).toEqual(['post', 'edit', 'delete', 'react'])
  })

  test('rejects what cannot be done', async () => {
    const { publisher, done } = openPublisher({ channels: [sketchChannel('activitypub')] })
    await expect(publisher.post('news')).rejects.toMatchObject(cannot)
    await expect(publisher.edit('r1', 'new')).rejects.toMatchObject(cannot)
    await expect(publisher.react('like', 'm1')).rejects.toMatchObject(cannot)
    expect(done).toEqual([])
  })

  test('rejects malformed actions', async () => {
    const { publisher, done } = openPublisher({ responses: [foundResponse('r1')] })
    await expect(publisher.post([])).rejects.toThrow(Error)
    await expect(publisher.post([{ kind: 'text' } as Part])).rejects.toThrow(Error)
    await expect(publisher.edit('r1', [])).rejects.toThrow(Error)
    expect(done).toEqual([])
  })
})
