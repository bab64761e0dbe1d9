import { describe, expect, test } from 'vitest'
import { acting, foundMessage, foundResponse, openActBench } from '../test/act-bench.ts'
import { silentLog } from '../test/memory-desk.ts'
import type { Act } from './act.ts'
import { createOutpost, performActs } from './outpost.ts'
import type { Part } from './part.ts'

const words: Part = { kind: 'text', mime: 'text/markdown', content: 'news' }
const cannot = {
  name: 'Rejection',
  code: 'unsupported',
  message: 'Cannot act: there is no such response or message, or no channel for it',
}

function openOutpost(sketch: Parameters<typeof openActBench>[0] = {}) {
  const bench = openActBench(sketch)
  const { signal } = new AbortController()
  return { ...bench, outpost: createOutpost({ acting, house: bench.house, signal, log: silentLog }) }
}

describe('performActs()', () => {
  test('does all acts in one go, under one correlation id', async () => {
    const { house, done } = openActBench({ responses: [foundResponse('r1')] })
    await performActs(
      [
        { act: 'post', parts: [words] },
        { act: 'delete', response: 'r1' },
      ],
      acting,
      house,
    )
    expect(done).toMatchObject([{ correlationId: '07'.repeat(8), acts: [{ kind: 'post' }, { kind: 'delete' }] }])
  })

  test('does nothing when one of them cannot be done', async () => {
    const { house, done } = openActBench()
    const acts: Act[] = [
      { act: 'post', parts: [words] },
      { act: 'delete', response: 'unknown' },
    ]
    await expect(performActs(acts, acting, house)).rejects.toMatchObject(cannot)
    expect(done).toEqual([])
  })
})

describe('an outpost', () => {
  test('posts, edits, deletes and reacts at once', async () => {
    const { outpost, done } = openOutpost({ responses: [foundResponse('r1')], messages: { m1: foundMessage(1) } })
    const id = await outpost.post('news', { visibility: 'public' })
    expect(done[0]?.acts).toMatchObject([{ kind: 'post', answer: { response: { id, visibility: 'public' } } }])
    await outpost.edit('r1', 'new')
    await outpost.delete('r1')
    await outpost.react('like', 'm1')
    expect(done.map(({ acts }) => acts[0]?.kind)).toEqual(['post', 'edit', 'delete', 'react'])
  })

  test('rejects what cannot be done', async () => {
    const { outpost, done } = openOutpost({ channels: [{ name: 'activitypub' }] })
    await expect(outpost.post('news')).rejects.toMatchObject(cannot)
    await expect(outpost.edit('r1', 'new')).rejects.toMatchObject(cannot)
    await expect(outpost.react('like', 'm1')).rejects.toMatchObject(cannot)
    expect(done).toEqual([])
  })

  test('rejects what is malformed', async () => {
    const { outpost, done } = openOutpost({ responses: [foundResponse('r1')] })
    await expect(outpost.post([])).rejects.toThrow(Error)
    await expect(outpost.post([{ kind: 'text' } as Part])).rejects.toThrow(Error)
    await expect(outpost.edit('r1', [])).rejects.toThrow(Error)
    expect(done).toEqual([])
  })
})
