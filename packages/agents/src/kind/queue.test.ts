import { expect, test } from 'vitest'
import { agentConfigSchema } from '../config.ts'
import { readQueueMode } from './agent-kind.ts'

const read = (members: object) => agentConfigSchema.safeParse({ use: 'builtin:echo', ...members })

test.each([
  [{}, undefined],
  [{ queue: 'queue' }, undefined],
  [{ queue: 'merge' }, { mode: 'merge' }],
  [{ queue: 'interrupt' }, { mode: 'interrupt' }],
  [{ queue: { mode: 'merge', window: '1500ms' } }, { mode: 'merge', windowMs: 1_500 }],
])('the configuration reads %j as %j, and reads that unchanged', (members, lane) => {
  const { data } = read(members)
  if (!data) throw new Error('it should be valid')
  expect(readQueueMode(data.queue)).toEqual(lane)
  expect(read(data).data).toEqual(data)
})

test.each([
  [{ queue: 'drop' }],
  [{ queue: { mode: 'merge', window: '11s' } }],
  [{ queue: { mode: 'interrupt', window: '1s' } }],
  [{ queue: { mode: 'merge' } }],
  [{ concurrency: 0 }],
  [{ concurrency: 1.5 }],
])('the configuration refuses %j by its key', members => {
  const { error } = read(members)
  expect(error?.issues[0]?.path[0]).toBe(Object.keys(members)[0])
})
