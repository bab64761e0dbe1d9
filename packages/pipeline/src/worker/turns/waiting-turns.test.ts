import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createGate, turn } from '../../../test/memory-store.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import { createWaitingTurns } from './waiting-turns.ts'

/** Returns a turn of an agent whose message has made this many hops. By default each turn has a different sender. */
function turnOf(agent: string, hop: number, sender = `@${randomUUID()}@peer.test`): Turn {
  const firstTurn = turn(1)
  const agent_chain = { hop, max_hops: 9, is_final: false }
  const recipient_capabilities = { ...firstTurn.content.recipient_capabilities, ...(hop > 0 && { agent_chain }) }
  const content = {
    ...firstTurn.content,
    recipient_capabilities,
    sender: { ...firstTurn.content.sender, address: sender },
  }
  return { ...firstTurn, agent, content }
}

const refusal = 'Cannot call agent: too many calls are under way'

test('createWaitingTurns() counts a turn while one of its calls is running', async () => {
  const onChange = vi.fn()
  const turns = createWaitingTurns(8, onChange)
  const asked = turn(1)
  const [firstGate, secondGate] = [createGate(), createGate()]
  const calls = [firstGate, secondGate].map(({ opened }) => turns.trackCall(asked, () => opened))
  expect(onChange.mock.calls).toEqual([[asked, true]])
  firstGate.open()
  await calls[0]
  expect(onChange.mock.calls).toEqual([[asked, true]])
  secondGate.open()
  await calls[1]
  expect(onChange.mock.calls).toEqual([
    [asked, true],
    [asked, false],
  ])
  await expect(turns.trackCall(asked, () => Promise.reject(new Error('theirs')))).rejects.toThrow('theirs')
  expect(onChange).toHaveBeenLastCalledWith(asked, false)
})

test('createWaitingTurns() reserves calls for the next hop of running chains, and for other agents', async () => {
  const turns = createWaitingTurns(16, () => undefined)
  const gate = createGate()
  const startedTurns: Promise<void>[] = []
  const begin = (asked: readonly [agent: string, hop: number], times: number) => {
    for (let at = 0; at < times; at += 1)
      startedTurns.push(turns.trackCall(turnOf(asked[0], asked[1]), () => gate.opened))
  }
  const isRefused = (asked: Turn) => expect(turns.trackCall(asked, () => gate.opened)).rejects.toThrow(refusal)
  begin(['a', 0], 4)
  await isRefused(turnOf('a', 0))
  begin(['b', 0], 4)
  await isRefused(turnOf('c', 0))
  begin(['c', 1], 4)
  await isRefused(turnOf('d', 1))
  begin(['d', 2], 2)
  await isRefused(turnOf('e', 2))
  gate.open()
  await Promise.all(startedTurns)
  await expect(turns.trackCall(turnOf('a', 0), async () => 'room again')).resolves.toBe('room again')
})

test('createWaitingTurns() limits each sender to a quarter of the calls, whatever hop they claim', async () => {
  const turns = createWaitingTurns(16, () => undefined)
  const semaphore = createGate()
  const begin = (asked: Turn) => turns.trackCall(asked, () => semaphore.opened)
  const startedTurns = ['a', 'b', 'c', 'd'].map(agent => begin(turnOf(agent, 8, '@mallory@peer.test')))
  await expect(begin(turnOf('e', 8, '@mallory@peer.test'))).rejects.toThrow(refusal)
  startedTurns.push(begin(turnOf('e', 0)))
  semaphore.open()
  await Promise.all(startedTurns)
})
