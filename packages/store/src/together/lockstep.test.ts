import { expect, test } from 'vitest'
import { createLockstep } from './lockstep.ts'

/** Creates a server that answers all questions since the last time at once. */
function openServer() {
  let time = 0
  const lockstep = createLockstep<string>(() => ++time)
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
  async function answer(): Promise<boolean> {
    if (asked.length === 0) return false
    rounds.push(asked)
    for (const question of asked) answers.set(question, `${question}!`)
    asked = []
    return true
  }
  return { lockstep, ask, exchange: { place: 'here', answer }, rounds }
}

test('operations that ask at the same step share one round trip, and each asks once', async () => {
  const { lockstep, ask, exchange, rounds } = openServer()
  const operations = ['a', 'b'].map(name => ({ operation: () => `${ask(`${name}1`)} ${ask(`${name}2`)}` }))
  expect(await lockstep.run(operations, exchange)).toEqual(['a1! a2!', 'b1! b2!'])
  expect(rounds).toEqual([
    ['a1', 'b1'],
    ['a2', 'b2'],
  ])
})

test('operations that reserve the same name run one after another, and first the one that named it before', async () => {
  const { lockstep, ask, exchange } = openServer()
  const order: string[] = []
  const use = (name: string) => () => {
    ask(`place of ${name}`)
    lockstep.reserve('thread 1')
    ask(`rows of ${name}`)
    order.push(name)
  }
  const conflicting = { names: ['thread 1'], operation: use('c') }
  await lockstep.run([{ operation: use('a') }, { operation: use('b') }, conflicting], exchange)
  expect(order).toEqual(['c', 'a', 'b'])
})

test('an operation that has to stand alone runs behind those that need not', async () => {
  const { lockstep, ask, exchange } = openServer()
  const order: string[] = []
  const alone = () => {
    lockstep.standAlone()
    order.push('alone')
    return `alone, ${lockstep.hasCompany() ? 'in' : 'without'} company`
  }
  const other = () => {
    ask('x')
    order.push('other')
    return 'other'
  }
  expect(await lockstep.run([{ operation: alone }, { operation: other }], exchange)).toEqual([
    'alone, without company',
    'other',
  ])
  expect(order).toEqual(['other', 'alone'])
})

test('asynchronous operations begin at once, ask together, and come each to its own end', async () => {
  const { lockstep, ask, exchange, rounds } = openServer()
  const failing = async () => {
    ask('c')
    await undefined
    throw new Error('it cannot')
  }
  const begun = [async () => 'done', async () => ask('a'), async () => ask('b'), failing].map(operation =>
    lockstep.begin(operation, exchange.place),
  )
  expect(begun.map(({ end }) => end() !== undefined)).toEqual([true, false, false, false])
  await lockstep.runEach(begun, exchange.answer)
  expect(await Promise.allSettled(begun.map(({ end }) => end()))).toMatchObject([
    { value: 'done' },
    { value: 'a!' },
    { value: 'b!' },
    { status: 'rejected' },
  ])
  expect(rounds).toEqual([['a', 'b', 'c']])
})

test('an operation that gets no answer has no end, and tells whether it has begun a write', async () => {
  const { lockstep, ask, exchange } = openServer()
  const writing = async () => {
    lockstep.act(() => 'a write')
    return ask('b')
  }
  const begun = [async () => ask('a'), writing].map(operation => lockstep.begin(operation, exchange.place))
  const answer = () => Promise.reject(new Error('the server is not there'))
  await expect(lockstep.runEach(begun, answer)).rejects.toThrow('the server is not there')
  expect(begun.map(({ end, hasActed }) => [end(), hasActed()])).toEqual([
    [undefined, false],
    [undefined, true],
  ])
})

test('runs go on at a time, each asks at its own place, and the clock stands still for an operation', async () => {
  const { lockstep, ask, exchange } = openServer()
  const operation = (name: string) => () => {
    const before = lockstep.now()
    return `${ask(`${name} at ${lockstep.place()}`)} ${lockstep.now() - before}`
  }
  const runs = ['here', 'there'].map(place =>
    lockstep.run([{ operation: operation(`from ${place}`) }], { ...exchange, place }),
  )
  expect(await Promise.all(runs)).toEqual([['from here at here! 0'], ['from there at there! 0']])
})

test('a question outside an operation fails', () => {
  const { lockstep, ask } = openServer()
  expect(() => lockstep.place()).toThrow('a statement outside an operation')
  expect(() => ask('a')).toThrow('a statement outside an operation')
})

test('run() throws the error of an operation, and the next run knows nothing of it', async () => {
  const { lockstep, ask, exchange } = openServer()
  const failing = {
    operation: () => {
      throw new Error('it cannot')
    },
  }
  await expect(lockstep.run([{ operation: () => ask('x') }, failing], exchange)).rejects.toThrow('it cannot')
  expect(await lockstep.run([{ operation: () => ask('y') }], exchange)).toEqual(['y!'])
})

test('run() throws if an operation does something else when it runs again', async () => {
  const { lockstep, ask, exchange } = openServer()
  let runs = 0
  const fickle = () => {
    runs += 1
    return ask(`question ${runs}`)
  }
  await expect(lockstep.run([{ operation: fickle }], exchange)).rejects.toThrow('does not do the same')
})

test('operations that wait for each other are an error, and do not wait for ever', async () => {
  const { lockstep, exchange } = openServer()
  const cross = (own: string, other: string) => ({ names: [own], operation: () => lockstep.reserve(other) })
  await expect(lockstep.run([cross('a', 'b'), cross('b', 'a')], exchange)).rejects.toThrow('wait for each other')
})

test('within an operation, readings that need not wait for each other ask in one way, and each goes on by itself', async () => {
  const { lockstep, ask, exchange, rounds } = openServer()
  const operation = (name: string) => () => {
    const readings = [() => `${ask(`${name}1`)} ${ask(`${name}2`)}`, () => ask(`${name}3`)]
    return `${lockstep.together(readings).join(' ')} ${ask(`${name}4`)}`
  }
  const ended = await lockstep.run([{ operation: operation('a') }, { operation: operation('b') }], exchange)
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
  const answer = async () => {
    await new Promise(setImmediate)
    throw new Error('the server is not there')
  }
  const operations = [{ operation: promised }, { operation: async () => ask('a1') }]
  await expect(lockstep.run(operations, { place: 'here', answer })).rejects.toThrow('the server is not there')
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
