import type { NormalizedResponse } from '@postern/message'
import { noLog } from '@postern/message'
import type { ResponseRecord, TaskRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import type { TurnPolls } from '../polling/turn-polls.ts'
import type { TurnEnding } from './follow-turn.ts'
import { followTurn } from './follow-turn.ts'

const response = { id: 'r1', parts: [], status: 'completed' } as unknown as NormalizedResponse

/** Opens a store whose turn commits immediately after a read. */
function openCommittingStore() {
  let isCommitted = false
  async function read<Value>(find: () => Value): Promise<Value> {
    const value = find()
    isCommitted = true
    return value
  }
  return {
    listen: () => () => undefined,
    findMessage: async () => undefined,
    findAnswer: () => read(() => (isCommitted ? ({ response } as ResponseRecord) : undefined)),
    findTask: () => read(() => ({ state: isCommitted ? 'completed' : 'working' }) as TaskRecord),
  }
}

test('followTurn() ends with the answer, even if the turn commits between two reads', async () => {
  const { promise, resolve } = Promise.withResolvers<TurnEnding>()
  const ignore = () => undefined
  const watcher = {
    writePiece: ignore,
    writeDetails: ignore,
    writeInterim: ignore,
    writeNote: ignore,
    sendHeartbeat: ignore,
    fail: ignore,
    end: resolve,
  }
  const turnPolls: TurnPolls = {
    add(poll) {
      const timer = setInterval(poll, 1)
      return () => clearInterval(timer)
    },
  }
  const watched = { message: 1, task: { owner: 'ann', id: 'run-1' }, askedAt: 0 }
  followTurn(watched, watcher, { store: openCommittingStore(), system: { log: noLog }, turnPolls })
  expect(await promise).toEqual({ response, isCanceled: false })
})
