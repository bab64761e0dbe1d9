import { expect } from 'vitest'
import type { Agent } from '../src/agent.ts'
import { createSlidingWindowPolicy } from '../src/history.ts'
import type { Channel } from '../src/protocol.ts'
import { workTurn } from '../src/turn.ts'
import type { Working } from '../src/working.ts'
import type { MemoryDesk } from './memory-desk.ts'
import { createMemoryDesk, createQuietWorld, turn } from './memory-desk.ts'

export const running = new AbortController().signal
const retry = { baseMs: 1_000, capMs: 60_000, giveUpAfterMs: 3_600_000 }
export const receivedAt = Date.parse('2026-01-01T00:00:00.000Z')

export const channel: Pick<Channel, 'name' | 'address'> = {
  name: 'activitypub',
  address: ({ response }) => ({
    deliveries: [{ to: 'https://peer.test/inbox', target: null }],
    aliases: [`https://agents.test/posts/${response.id}`],
  }),
}

interface Bench {
  readonly memory: MemoryDesk
  readonly working: Working
}

export function openBench(
  handle: Agent['handle'] | undefined,
  members: Partial<Working> & { deadlineMs?: number } = {},
): Bench {
  const { deadlineMs = 5_000, ...rest } = members
  const memory = createMemoryDesk()
  const history = createSlidingWindowPolicy()
  const working: Working = {
    desk: memory.desk,
    world: createQuietWorld({ now: () => receivedAt }),
    retry,
    maxCrashes: 3,
    findAgent: () => handle && { agent: { handle }, history, deadlineMs },
    findChannel: () => channel as Channel,
    presentParts: parts => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array([1]), name: 'a' }),
    ...rest,
  }
  return { memory, working }
}

/** Works one turn and tells the answer that was committed. */
export async function answerTo(handle: Agent['handle'], members: Parameters<typeof openBench>[1] = {}) {
  const { memory, working } = openBench(handle, members)
  await workTurn(turn(1), working, running)
  return memory.commits[0]?.answer
}

const neutralText = 'Sorry, this could not be answered. Reference: c1'

export function expectNeutral(answer: Awaited<ReturnType<typeof answerTo>>): void {
  expect(answer?.response?.status).toBe('failed')
  expect(answer?.response?.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: neutralText }])
  expect(answer?.deliveries).toHaveLength(1)
}
