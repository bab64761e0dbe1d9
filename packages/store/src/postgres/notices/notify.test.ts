import type { TaskRecord } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { describeSettledTask } from '../../tasks/task-table.ts'
import type { Notice } from '../../transaction/notices.ts'
import { listNotices } from '../../transaction/notices.ts'
import type { NotifyCodec } from './notify.ts'
import { createNotifyCodec, formatNotice } from './notify.ts'

const pack = (codec: NotifyCodec, notices: readonly Notice[]) =>
  codec.pack(notices.flatMap(notice => formatNotice(notice) ?? []))

const notice = (length: number) => ({ topic: 'message:1', payload: { kind: 'part', chunk: 'ä\0🦆'.repeat(length) } })

test('a gateway reads notifications of another gateway from payloads that PostgreSQL accepts', () => {
  const [codecA, codecB] = [createNotifyCodec('a'), createNotifyCodec('b')]
  const told = notice(5_000)
  const payloads = pack(codecA, [told, { topic: 'work', payload: undefined }])
  expect(Math.max(...payloads.map(payload => Buffer.byteLength(payload)))).toBeLessThan(8_000)
  const heard = payloads.flatMap(payload => codecB.parse(payload))
  expect(heard).toEqual([told, { topic: 'work', payload: null }])
})

test('short notifications share payloads, in order', () => {
  const [here, there] = [createNotifyCodec('a'), createNotifyCodec('b')]
  const told = Array.from({ length: 300 }, (_, at) => ({ topic: `message:${at}`, payload: { kind: 'settled' } }))
  const payloads = pack(here, told)
  expect([payloads.length, Math.max(...payloads.map(each => each.length)) < 8_000]).toEqual([2, true])
  expect(payloads.flatMap(payload => there.parse(payload))).toEqual(told)
})

test('a gateway ignores its own notifications', () => {
  const hints = createNotifyCodec('a')
  expect(pack(hints, [notice(1)]).map(payload => hints.parse(payload))).toEqual([[]])
})

test('a gateway sends no oversized or invalid notification, and ignores a broken payload', () => {
  const hints = createNotifyCodec('a')
  expect(pack(hints, [{ topic: 'a', payload: 1n }])).toEqual([])
  expect(pack(hints, [notice(100_000)])).toEqual([])
  const broken = ['', 'x', 'b 1 0 1 [', 'b 2 0 1 [7]', 'b 3 0 2 []', 'b 4 0 1 7', 'b 5 0 1 [null]', 'b 6 0 1 [[7]]']
  expect(broken.flatMap(payload => hints.parse(payload))).toEqual([])
})

test('a gateway drops an incomplete notification when many others begin after it', () => {
  const [here, there] = [createNotifyCodec('a'), createNotifyCodec('b')]
  const [first, ...rest] = pack(here, [notice(5_000)])
  there.parse(first ?? '')
  for (let at = 0; at < 200; at += 1) there.parse(pack(here, [notice(5_000)])[0] ?? '')
  expect(rest.flatMap(payload => there.parse(payload))).toEqual([])
})

const settledTask = { owner: 'o', id: 't', agent: 'a', context: 'c', state: 'completed' as const, updatedAt: 1 }
const ending = { topic: 'message:1', payload: { kind: 'settled' } }

test('a gateway tells its own listeners the end of a turn with the task, without queries for data that few need', () => {
  const task = {
    ...settledTask,
    earlierResponses: [],
    canceledAnswers: [],
    get entries(): never {
      throw new Error('entries were read')
    },
  }
  const tellOf = (read: TaskRecord) => {
    const notices = [{ ...ending, readTask: () => read }]
    return listNotices({ notices, readyWork: new Set(), changes: new Map() }, describeSettledTask)
  }
  const told = { ...settledTask, earlierResponses: [], canceledAnswers: [] }
  expect(tellOf(task)).toEqual([{ ...ending, payload: { kind: 'settled', task: told } }])
  const away = Object.defineProperty({ ...settledTask }, 'earlierResponses', {
    get() {
      throw new Error('the database is away')
    },
  })
  expect(tellOf(away as unknown as TaskRecord)).toEqual([ending])
})

test('a gateway tells others the end of a turn without the task, which their listeners can query', () => {
  const notices = [{ ...ending, readTask: () => settledTask as unknown as TaskRecord }]
  expect(listNotices({ notices, readyWork: new Set(['turns']), changes: new Map([['turn', new Set([1])]]) })).toEqual([
    ending,
    { topic: 'work', payload: ['turns'] },
    { topic: 'changes', payload: { turn: [1] } },
  ])
})
