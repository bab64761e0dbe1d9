import { expect, test } from 'vitest'
import { mapInOrder } from '../../sql/operation.ts'
import type { WriteOperation } from '../../transaction/batch.ts'
import { createBatch } from '../../transaction/batch.ts'

import type { PendingStatement } from '../connection/statement-session.ts'
import { createStatement, waitForResult } from '../connection/statement-session.ts'
import { createOperationScope } from '../operation-context.ts'
import { runWave } from './run-wave.ts'

/** Creates a server that answers all queries since the last time at once. */
function openServer() {
  const scope = createOperationScope()
  let pendingStatements: PendingStatement[] = []
  const rounds: (readonly string[])[] = []
  const locked: string[] = []
  const unused = async () => {
    throw new Error('the wave does not end its session')
  }
  const run: PendingRun = (statement, values) => {
    const pending: PendingStatement = { statement, values, result: undefined }
    pendingStatements.push(pending)
    return pending
  }
  const session = {
    ...{ add: run, run, commit: unused, endUnchanged: unused, flushLast: unused },
    ...{ rollback() {}, hasChanged: () => false, isEnding: () => false },
    async flush() {
      if (pendingStatements.length === 0) return false
      rounds.push(pendingStatements.map(({ statement }) => statement.text))
      for (const pending of pendingStatements)
        pending.result = { rows: [{ text: `${pending.statement.text}!` }], changes: 0, tag: '' }
      pendingStatements = []
      return true
    },
  }
  function* ask(question: string) {
    const { rows } = yield* waitForResult(scope.context().session.run(createStatement(question), []))
    return String(rows[0]?.text)
  }
  async function runAll(operations: readonly (WriteOperation<unknown> | NamedOperation)[]) {
    const members = operations.map(each => {
      const { names = [], operation } = typeof each === 'function' ? { operation: each } : each
      return { member: { operation }, names }
    })
    const shared = {
      session,
      locks: { isExclusive: () => false },
      openReservations: () => ({ lock: (name: string) => void locked.push(name), nextNumber: unnumbered }),
    }
    const attempt = { batch: createBatch(), failedAttempts: 0, isAgain: false }
    return (await runWave(scope, shared, { members, attempt })).map(({ result }) => result)
  }
  return { ask, runAll, rounds, locked }
}

type PendingRun = (statement: PendingStatement['statement'], values: PendingStatement['values']) => PendingStatement

interface NamedOperation {
  readonly names: readonly string[]
  readonly operation: WriteOperation<unknown>
}

function unnumbered(): never {
  throw new Error('the operation inserts no row')
}

test('operations that query at the same step share one round trip', async () => {
  const { ask, runAll, rounds } = openServer()
  const operations = ['a', 'b'].map(
    name =>
      function* () {
        return `${yield* ask(`${name}1`)} ${yield* ask(`${name}2`)}`
      },
  )
  expect(await runAll(operations)).toEqual(['a1! a2!', 'b1! b2!'])
  expect(rounds).toEqual([
    ['a1', 'b1'],
    ['a2', 'b2'],
  ])
})

test('operations that reserve the same name run in sequence, and one that declared the name runs first', async () => {
  const { ask, runAll, locked } = openServer()
  const order: string[] = []
  const use = (name: string): WriteOperation<void> =>
    function* (batch) {
      yield* ask(`context of ${name}`)
      yield* batch.reserve('thread 1')
      yield* ask(`rows of ${name}`)
      order.push(name)
    }
  await runAll([use('a'), use('b'), { names: ['thread 1'], operation: use('c') }])
  expect(order).toEqual(['c', 'a', 'b'])
  expect(locked).toEqual(['thread 1', 'thread 1', 'thread 1'])
})

test('an operation that must stand alone runs again after all others, with a new batch', async () => {
  const { ask, runAll } = openServer()
  const order: string[] = []
  const alone: WriteOperation<string> = batch => {
    batch.readyWork.add('turns')
    batch.standAlone()
    order.push('alone')
    return `alone, ${batch.hasCompany ? 'in' : 'without'} company`
  }
  function* other() {
    yield* ask('x')
    order.push('other')
    return 'other'
  }
  expect(await runAll([alone, other])).toEqual(['alone, in company', 'other'])
  expect(order).toEqual(['other', 'alone'])
})

test('an error of an operation ends the wave', async () => {
  const { ask, runAll } = openServer()
  const fail = () => {
    throw new Error('it cannot')
  }
  await expect(runAll([() => ask('x'), fail])).rejects.toThrow('it cannot')
  expect(await runAll([() => ask('y')])).toEqual(['y!'])
})

test('operations that wait for each other throw an error', async () => {
  const { runAll } = openServer()
  const cross = (ownName: string, other: string): NamedOperation => ({
    names: [ownName],
    operation: batch => batch.reserve(other),
  })
  await expect(runAll([cross('a', 'b'), cross('b', 'a')])).rejects.toThrow('wait for each other')
})

test('an operation on many rows takes each of its steps once', async () => {
  const { ask, runAll, rounds } = openServer()
  const rows = Array.from({ length: 500 }, (_, number) => `row ${number}`)
  await runAll([() => mapInOrder(rows, ask)])
  expect(rounds.flat()).toEqual(rows)
})
