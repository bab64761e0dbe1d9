import { LeaseLost, noLog } from '@postern/message'
import { describe, expect, test, vi } from 'vitest'
import { createPartialChannel } from '../../test/channels.ts'

import type { Broadcast, PlannedBroadcast } from '../index.ts'
import type { Channel } from '../ports/channel/channel.ts'
import type { Relation } from '../ports/records/relation.ts'
import { expandBroadcast } from './expand-broadcast.ts'

const leasedBroadcast: Broadcast = {
  id: 1,
  via: 'activitypub',
  agent: 'echo',
  relation: 'follower',
  target: { note: 1 },
  lastQueuedPeer: 0,
  lastPeer: 1_000,
}

/** Returns this many followers, with the numbers 2, 4, 6, … */
function createFollowers(count: number): readonly Relation[] {
  const { via, agent, relation } = leasedBroadcast
  return Array.from({ length: count }, (_, index) => {
    return { via, agent, relation, peer: `p${index + 1}`, target: null, since: 0, number: 2 * (index + 1) }
  })
}

interface Page {
  readonly to: readonly string[]
  readonly after: number
  readonly isDone: boolean
}

/** Expands a broadcast to the listed followers, and returns the stored pages. */
async function expandTo(followers: readonly Relation[], broadcast: Partial<Broadcast> = {}, stopAfter = Infinity) {
  const pages: Page[] = []
  const plannedBroadcasts: PlannedBroadcast[] = []
  const channel: Partial<Channel> = {
    actions: {
      expand(planned, relations) {
        plannedBroadcasts.push(planned)
        return relations.map(({ peer }) => ({ to: peer, target: null }))
      },
    },
  }
  await expandBroadcast(
    { ...leasedBroadcast, ...broadcast },
    {
      store: {
        listRelations: async ({ after = 0, limit }) => followers.filter(({ number }) => number > after).slice(0, limit),
      },
      results: {
        expand: async (_held, deliveries, progress) =>
          void pages.push({ to: deliveries.map(({ to }) => to), ...progress }),
      },
      channels: [createPartialChannel('activitypub', channel)],
      isClosed: () => pages.length >= stopAfter,
      system: { log: noLog },
    },
  )
  return { pages, asked: plannedBroadcasts, sizes: pages.map(({ to }) => to.length) }
}

function failToPlan(): never {
  throw new Error('odd target')
}

describe('expandBroadcast()', () => {
  test('stores page after page, until a page is not full', async () => {
    const { pages, sizes, asked } = await expandTo(createFollowers(450))
    expect(sizes).toEqual([200, 200, 50])
    expect(pages.map(({ after, isDone }) => [after, isDone])).toEqual([
      [400, false],
      [800, false],
      [900, true],
    ])
    expect(new Set(pages.flatMap(({ to }) => to)).size).toBe(450)
    expect(asked[0]).toMatchObject({ target: { note: 1 }, relation: 'follower' })
  })

  test('ends with an empty page if the last one was full', async () => {
    const { pages } = await expandTo(createFollowers(200))
    expect(pages.map(({ to, after, isDone }) => [to.length, after, isDone])).toEqual([
      [200, 400, false],
      [0, 400, true],
    ])
  })

  test('ends at once without followers', async () => {
    expect((await expandTo([])).pages).toEqual([{ to: [], after: 0, isDone: true }])
  })

  test('continues after the stored cursor', async () => {
    const { pages } = await expandTo(createFollowers(5), { lastQueuedPeer: 6 })
    expect(pages).toEqual([{ to: ['p4', 'p5'], after: 10, isDone: true }])
  })

  test('omits later followers', async () => {
    const { pages } = await expandTo(createFollowers(500), { lastPeer: 404 })
    expect(pages.map(({ to, after, isDone }) => [to.length, after, isDone])).toEqual([
      [200, 400, false],
      [2, 404, true],
    ])
  })

  test('stops between two pages when the process stops, and the broadcast stays open', async () => {
    const { pages } = await expandTo(createFollowers(450), {}, 1)
    expect(pages.map(({ after, isDone }) => [after, isDone])).toEqual([[400, false]])
  })

  test('stops when another worker holds the lease', async () => {
    const expansion = expandBroadcast(leasedBroadcast, {
      store: {
        listRelations: async () => createFollowers(200),
      },
      results: {
        expand: () => Promise.reject(new LeaseLost('lost')),
      },
      channels: [createPartialChannel('activitypub', { actions: { expand: () => [] } })],
      isClosed: () => false,
      system: { log: noLog },
    })
    await expect(expansion).rejects.toThrow(LeaseLost)
  })

  test.each([
    ['that fails to plan it', { actions: { expand: failToPlan } }, 'a broadcast ends: it cannot be spread'],
    ['that is not open', undefined, 'a broadcast ends: its channel is not open'],
  ])('ends and logs an error for a channel %s', async (_, channel, text) => {
    const ends: boolean[] = []
    const error = vi.fn()
    await expandBroadcast(leasedBroadcast, {
      store: {
        listRelations: async () => createFollowers(3),
      },
      results: {
        expand: async (_held, _deliveries, { isDone }) => void ends.push(isDone),
      },
      channels: [createPartialChannel(leasedBroadcast.via, channel)],
      isClosed: () => false,
      system: { log: { ...noLog, error } },
    })
    expect(ends).toEqual([true])
    expect(error).toHaveBeenCalledWith(expect.objectContaining({ agent: leasedBroadcast.agent }), text)
  })
})
