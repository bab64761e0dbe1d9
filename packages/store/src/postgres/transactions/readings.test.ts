import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { mapInOrder } from '../../sql/operation.ts'
import { maxOperations } from '../../transaction/bounds.ts'
import { createConnectionLostFailure } from '../connection/failure.ts'
import type { StepResult } from '../connection/pipelined-run.ts'
import { createStatement, waitForResult } from '../connection/statement-session.ts'
import { createOperationScope } from '../operation-context.ts'
import { createReadings } from './readings.ts'

/** Opens a server that answers each statement with its own text and refuses `refused`. The first `failures` runs break their connection. */
function openServer(failures = 0) {
  const scope = createOperationScope()
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
  function* ask(text: string) {
    const statement = statements.get(text) ?? createStatement(text)
    statements.set(text, statement)
    const { rows } = yield* waitForResult(scope.context().session.run(statement, []))
    return String(rows[0]?.said)
  }
  return { read: createReadings(pool, scope), ask, sent }
}

test('concurrent reads share a connection, and reads that arrive while two groups run share the next one', async () => {
  const { read, ask, sent } = openServer()
  const put = (text: string) => read(() => ask(text))
  const all = [put('a'), put('b')]
  await new Promise(setImmediate)
  all.push(put('c'))
  await Promise.resolve()
  all.push(put('d'))
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
  expect(sent).toEqual(['a b', 'c d'])
})

test('a read of one step needs no transaction, and a read of several restarts in one, like reads that begin with the same statement', async () => {
  const { read, ask, sent } = openServer()
  function* steps() {
    return `${yield* ask('a')} ${yield* ask('b')}`
  }
  expect(await Promise.all([read(steps), read(() => ask('c'))])).toEqual(['a b', 'c'])
  expect(await read(steps)).toBe('a b')
  expect(await read(() => ask('c'))).toBe('c')
  expect(sent).toEqual(['a c', 'BEGIN a', 'b', 'COMMIT', 'BEGIN a', 'b', 'COMMIT', 'c'])
})

test('a read without statements ends at once', async () => {
  const { read, ask, sent } = openServer()
  const all = [read(() => ask('a')), read(() => 'b')]
  expect(await all[1]).toBe('b')
  expect(sent).toEqual([])
  expect(await all[0]).toBe('a')
})

test('a query outside an operation throws', () => {
  const { ask } = openServer()
  expect(() => ask('a').next()).toThrow('a statement outside an operation')
})

test('a failed read rejects only its own caller', async () => {
  const { read, ask } = openServer()
  function* fail(): Generator<void, string, void> {
    throw new Error(`no row ${yield* ask('a')}`)
  }
  await expect(Promise.allSettled([read(fail), read(() => ask('b'))])).resolves.toMatchObject([
    { reason: { message: 'no row a' } },
    { value: 'b' },
  ])
})

test('a read with a refused statement does not fail the others', async () => {
  const { read, ask, sent } = openServer()
  const all = ['a', 'refused', 'b'].map(text => read(() => ask(text)))
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
  function* steps() {
    return (yield* mapInOrder(['a', 'b', 'c'], ask)).join(' ')
  }
  const all = [read(steps), read(() => ask('d'))]
  await Promise.all(all.map(async each => told.push(await each)))
  expect(told).toEqual(['d', 'a b c'])
})

test('too many reads for one connection share two', async () => {
  const { read, ask, sent } = openServer()
  const all = Array.from({ length: maxOperations + 1 }, (_, at) => read(() => ask(`a ${at}`)))
  await all[0]
  expect(sent.map(questions => questions.split(' ').length)).toEqual([maxOperations, 1])
  await Promise.all(all)
})

test('reads run once more after a lost connection, and fail after a second loss', async () => {
  const once = openServer(1)
  expect(await once.read(() => once.ask('a'))).toBe('a')
  const twice = openServer(2)
  await expect(twice.read(() => twice.ask('a'))).rejects.toThrow(Unavailable)
})
