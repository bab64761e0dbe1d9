// Runs turns of an agent on a store in memory.
import { expect } from 'vitest'
import { createSlidingWindowPolicy } from '../src/history/sliding-window.ts'
import type { Agent } from '../src/ports/agent/agent.ts'
import type { Channel } from '../src/ports/channel/channel.ts'
import type { TurnContext } from '../src/ports/turn/turn-context.ts'
import { runTurn } from '../src/turn/turn.ts'
import { accounts, describeChannel } from './channels.ts'
import type { MemoryStore } from './memory-store.ts'
import { createMemoryStore, createQuietSystem, turn } from './memory-store.ts'

export const neverAbortedSignal = new AbortController().signal
const retry = { initialDelayMs: 1_000, maxDelayMs: 60_000, giveUpAfterMs: 3_600_000 }
export const receivedAt = Date.parse('2026-01-01T00:00:00.000Z')

export const channel: Pick<Channel, 'descriptor' | 'address'> = {
  descriptor: describeChannel('activitypub', { speaker: accounts }),
  address: ({ response }) => ({
    deliveries: [{ to: 'https://peer.test/inbox', target: null }],
    aliases: [`https://agents.test/posts/${response.id}`],
  }),
}

interface TurnBench {
  readonly memory: MemoryStore
  readonly turnContext: TurnContext
}

export function openTurnBench(
  handle: Agent['handle'] | undefined,
  members: Partial<TurnContext> & { deadlineMs?: number } = {},
): TurnBench {
  const { deadlineMs = 5_000, ...rest } = members
  const memory = createMemoryStore()
  const history = createSlidingWindowPolicy()
  const turnContext: TurnContext = {
    store: memory.store,
    results: memory.store,
    system: createQuietSystem({ now: () => receivedAt }),
    retry,
    maxCrashes: 3,
    findAgent: () => handle && { agent: { handle }, history, deadlineMs },
    channels: [channel as Channel],
    presentParts: parts => [...parts],
    readAttachment: async () => ({ bytes: new Uint8Array([1]), name: 'a' }),
    ...rest,
  }
  return { memory, turnContext }
}

/** Runs one turn and returns the committed answer. */
export async function runTurnOf(handle: Agent['handle'], members: Parameters<typeof openTurnBench>[1] = {}) {
  const { memory, turnContext } = openTurnBench(handle, members)
  await runTurn(turn(1), turnContext, neverAbortedSignal)
  return memory.commits[0]?.answer
}

const neutralText = 'Sorry, this could not be answered. Reference: c1'

export function expectNeutralFailure(answer: Awaited<ReturnType<typeof runTurnOf>>): void {
  expect(answer?.response?.status).toBe('failed')
  expect(answer?.response?.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: neutralText }])
  expect(answer?.deliveries).toHaveLength(1)
}
