import { expect, test } from 'vitest'
import { createLockstep } from './lockstep.ts'

/** A server that answers all that was asked since the last time at once. */
function openServer() {
  const lockstep = createLockstep()
  const answers = new Map<string, string>()
  let asked: string[] = []
  const rounds: (readonly string[])[] = []
  let lastId = 0
  const ids = new Map<string, number>()
  function ask(question: string): string {
    lastId += ids.has(question) ? 0 : 1
    ids.set(question, ids.get(question) ?? lastId)
    const step = lockstep.takeStep(ids.get(question) ?? 0, () => {
      asked.push(question)
      return { question }
    })
    if (!answers.has(step.question)) lockstep.suspend()
    return answers.get(step.question) ?? ''
  }
  function answer(): boolean {
    if (asked.length === 0) return false
    rounds.push(asked)
    for (const question of asked) answers.set(question, `${question}!`)
    asked = []
    return true
  }
  return { lockstep, ask, answer, rounds }
}

test('operations that ask at the same step share one round trip, and each asks once', () => {
  const { lockstep, ask, answer, rounds } = openServer()
  const operations = ['a', 'b'].map(name => ({ operation: () => `${ask(`${name}1`)} ${ask(`${name}2`)}` }))
  expect(lockstep.run(operations, answer)).toEqual(['a1! a2!', 'b1! b2!'])
  expect(rounds).toEqual([
    ['a1', 'b1'],
    ['a2', 'b2'],
  ])
})

test('operations that reserve the same name run one after another, and first the one that named it before', () => {
  const { lockstep, ask, answer } = openServer()
  const order: string[] = []
  const use = (name: string) => () => {
    ask(`place of ${name}`)
    lockstep.reserve('thread 1')
    ask(`rows of ${name}`)
    order.push(name)
  }
  const named = { names: ['thread 1'], operation: use('c') }
  lockstep.run([{ operation: use('a') }, { operation: use('b') }, named], answer)
  expect(order).toEqual(['c', 'a', 'b'])
})

test('an operation that has to stand alone runs behind those that need not', () => {
  const { lockstep, ask, answer } = openServer()
  const order: string[] = []
  const alone = () => {
    if (lockstep.isRunning()) lockstep.standAlone()
    order.push('alone')
    return 'alone'
  }
  const other = () => {
    ask('x')
    order.push('other')
    return 'other'
  }
  expect(lockstep.run([{ operation: alone }, { operation: other }], answer)).toEqual(['alone', 'other'])
  expect(order).toEqual(['other', 'alone'])
})

test('run() gives a promise for an asynchronous operation, and asks together what such operations ask before they wait', async () => {
  const { lockstep, ask, answer, rounds } = openServer()
  const operations = ['a', 'b'].map(name => ({ operation: async () => ask(name) }))
  expect(await Promise.all(lockstep.run(operations, answer))).toEqual(['a!', 'b!'])
  expect(rounds).toEqual([['a', 'b']])
})

test('run() throws the error of an operation, and the next run knows nothing of it', () => {
  const { lockstep, ask, answer } = openServer()
  const failing = {
    operation: () => {
      throw new Error('it cannot')
    },
  }
  expect(() => lockstep.run([{ operation: () => ask('x') }, failing], answer)).toThrow('it cannot')
  expect(lockstep.run([{ operation: () => ask('y') }], answer)).toEqual(['y!'])
})

test('run() throws if an operation does something else when it runs again', () => {
  const { lockstep, ask, answer } = openServer()
  let runs = 0
  const fickle = () => {
    runs += 1
    return ask(`question ${runs}`)
  }
  expect(() => lockstep.run([{ operation: fickle }], answer)).toThrow('does not do the same')
})

test('operations that wait for each other are an error, and do not wait for ever', () => {
  const { lockstep, answer } = openServer()
  const cross = (own: string, other: string) => ({ names: [own], operation: () => lockstep.reserve(other) })
  expect(() => lockstep.run([cross('a', 'b'), cross('b', 'a')], answer)).toThrow('wait for each other')
})

test('within an operation, readings that need not wait for each other ask in one way, and each goes on by itself', () => {
  const { lockstep, ask, answer, rounds } = openServer()
  const operation = (name: string) => () => {
    const readings = [() => `${ask(`${name}1`)} ${ask(`${name}2`)}`, () => ask(`${name}3`)]
    return `${lockstep.together(readings).join(' ')} ${ask(`${name}4`)}`
  }
  const ended = lockstep.run([{ operation: operation('a') }, { operation: operation('b') }], answer)
  expect(ended).toEqual(['a1! a2! a3! a4!', 'b1! b2! b3! b4!'])
  expect(rounds).toEqual([
    ['a1', 'a3', 'b1', 'b3'],
    ['a2', 'b2'],
    ['a4', 'b4'],
  ])
})

test('what an operation promised before the server was gone fails without anybody who waits for it', async () => {
  const { lockstep, ask } = openServer()
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const promised = async () => {
    await undefined
    throw new Error('the server is not there')
  }
  const answer = () => {
    throw new Error('the server is not there')
  }
  expect(() => lockstep.run([{ operation: promised }, { operation: async () => ask('a1') }], answer)).toThrow(
    'the server is not there',
  )
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
