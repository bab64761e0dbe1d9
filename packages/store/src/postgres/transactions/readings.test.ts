import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { createOperationRunner } from '../../batching/operation-runner.ts'
import { maxOperations } from '../../transaction/bounds.ts'
import { createConnectionLostFailure } from '../connection/failure.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import { createStatement } from '../connection/statement-session.ts'
import type { OperationContext } from '../operation-context.ts'
import { createReadings } from './readings.ts'

/** Opens a server that answers each statement with its own text and refuses `refused`. The first `failures` runs break their connection. */
function openServer(failures = 0) {
  const runner = createOperationRunner<OperationContext>(Date.now)
  const sent: string[] = []
  let left = failures
  const run = async (steps: readonly { readonly statement: { readonly text: string } }[]) => {
    sent.push(steps.map(({ statement }) => statement.text.split(' ')[0]).join(' '))
    await new Promise(setImmediate)
    left -= 1
    if (left >= 0) throw createConnectionLostFailure('it broke')
    if (steps.some(({ statement }) => statement.text === 'refused')) throw { code: '22P02', message: 'it is no number' }
    return steps.map(({ statement }): StepResult => ({ rows: [{ said: statement.text }], changes: 0, tag: '' }))
  }
  const pool = { acquire: async () => ({ run, release() {} }) }
  const statements = new Map<string, ReturnType<typeof createStatement>>()
  function ask(text: string): string {
    const statement = statements.get(text) ?? createStatement(text)
    statements.set(text, statement)
    const pending = runner.nextStep(statement.id, () => runner.context().session.run(statement, []))
    return String((pending.result ?? runner.suspend()).rows[0]?.said)
  }
  function write(text: string): string {
    runner.act(() => sent.push(`write ${text}`))
    return text
  }
  return { ...createReadings(pool, { runner }), ask, write, sent }
}

test('concurrent reads share a connection, and reads that arrive while two groups run share the next one', async () => {
  const { read, ask, sent } = openServer()
  const put = (text: string) => read(() => ask(text), 'find')
  const all = [put('a'), put('b')]
  await new Promise(setImmediate)
  all.push(put('c'))
  await Promise.resolve()
  all.push(put('d'))
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
  expect(sent).toEqual(['a b', 'c d'])
})

test('a read of one step needs no transaction, and a read of several restarts in one, like its kind from then on', async () => {
  const { read, ask, sent } = openServer()
  const steps = () => `${ask('a')} ${ask('b')}`
  expect(await Promise.all([read(steps, 'list'), read(() => ask('c'), 'find')])).toEqual(['a b', 'c'])
  expect(await read(steps, 'list')).toBe('a b')
  expect(await read(() => ask('c'), 'find')).toBe('c')
  expect(sent).toEqual(['a c', 'BEGIN a', 'b', 'COMMIT', 'BEGIN a', 'b', 'COMMIT', 'c'])
})

test('a read without a kind has a transaction from the beginning', async () => {
  const { read, ask, sent } = openServer()
  await read(() => ask('a'))
  expect(sent).toEqual(['BEGIN a', 'COMMIT'])
})

test('a read without statements ends at once, and so does one that only writes', async () => {
  const { read, ask, write, sent } = openServer()
  const all = [read(() => ask('a'), 'find'), read(() => write('b'), 'commit')]
  expect(sent).toEqual(['write b'])
  expect(await Promise.all(all)).toEqual(['a', 'b'])
})

test('an operation that has begun a write does not start again when its connection breaks', async () => {
  const { read, ask, write, sent } = openServer(1)
  const work = () => {
    write('a')
    return ask('b')
  }
  await expect(read(work, 'commit')).rejects.toThrow(Unavailable)
  expect(sent).toEqual(['write a', 'b'])
})

test('a failed read rejects only its own caller', async () => {
  const { read, ask } = openServer()
  const fail = () => {
    throw new Error(`no row ${ask('a')}`)
  }
  await expect(Promise.allSettled([read(fail, 'find'), read(() => ask('b'), 'find')])).resolves.toMatchObject([
    { reason: { message: 'no row a' } },
    { value: 'b' },
  ])
})

test('a read with a refused statement does not fail the others', async () => {
  const { read, ask, sent } = openServer()
  const all = ['a', 'refused', 'b'].map(text => read(() => ask(text), 'find'))
  await expect(Promise.allSettled(all)).resolves.toMatchObject([
    { value: 'a' },
    { reason: { message: 'it is no number' } },
    { value: 'b' },
  ])
  expect(sent).toEqual(['a refused b', 'a', 'refused', 'b'])
})

test('a read with all its results does not wait for longer reads beside it', async () => {
  const { read, ask } = openServer()
  const told: string[] = []
  const steps = () => ['a', 'b', 'c'].map(ask).join(' ')
  const all = [read(steps), read(() => ask('d'), 'find')]
  await Promise.all(all.map(async each => told.push(await each)))
  expect(told).toEqual(['d', 'a b c'])
})

test('too many reads for one connection share two', async () => {
  const { read, ask, sent } = openServer()
  const all = Array.from({ length: maxOperations + 1 }, (_, at) => read(() => ask(`a ${at}`), 'find'))
  await all[0]
  expect(sent.map(questions => questions.split(' ').length)).toEqual([maxOperations, 1])
  await Promise.all(all)
})

test('reads run once more after a lost connection, and fail after a second loss', async () => {
  const once = openServer(1)
  expect(await once.read(() => once.ask('a'), 'find')).toBe('a')
  const twice = openServer(2)
  await expect(twice.read(() => twice.ask('a'), 'find')).rejects.toThrow(Unavailable)
})
