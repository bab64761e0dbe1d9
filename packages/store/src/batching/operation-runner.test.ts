import { expect, test } from 'vitest'
import { createOperationRunner } from './operation-runner.ts'

/** Creates a server that answers all questions since the last time at once. */
function openServer() {
  let time = 0
  const runner = createOperationRunner<string>(() => ++time)
  const answers = new Map<string, string>()
  let asked: string[] = []
  const rounds: (readonly string[])[] = []
  let lastId = 0
  const ids = new Map<string, number>()
  function ask(question: string): string {
    lastId += ids.has(question) ? 0 : 1
    ids.set(question, ids.get(question) ?? lastId)
    const step = runner.nextStep(ids.get(question) ?? 0, () => {
      asked.push(question)
      return { question }
    })
    if (!answers.has(step.question)) runner.suspend()
    return answers.get(step.question) ?? ''
  }
  async function answer(): Promise<boolean> {
    if (asked.length === 0) return false
    rounds.push(asked)
    for (const question of asked) answers.set(question, `${question}!`)
    asked = []
    return true
  }
  return { runner, ask, exchange: { context: 'here', sendPending: answer }, rounds }
}

test('operations that query at the same step share one round trip, and send each query once', async () => {
  const { runner, ask, exchange, rounds } = openServer()
  const operations = ['a', 'b'].map(name => ({ operation: () => `${ask(`${name}1`)} ${ask(`${name}2`)}` }))
  expect(await runner.run(operations, exchange)).toEqual(['a1! a2!', 'b1! b2!'])
  expect(rounds).toEqual([
    ['a1', 'b1'],
    ['a2', 'b2'],
  ])
})

test('operations that lock the same name run in sequence, and one that declared the name runs first', async () => {
  const { runner, ask, exchange } = openServer()
  const order: string[] = []
  const use = (name: string) => () => {
    ask(`context of ${name}`)
    runner.reserve('thread 1')
    ask(`rows of ${name}`)
    order.push(name)
  }
  const conflicting = { names: ['thread 1'], operation: use('c') }
  await runner.run([{ operation: use('a') }, { operation: use('b') }, conflicting], exchange)
  expect(order).toEqual(['c', 'a', 'b'])
})

test('an operation that must run alone runs after all others', async () => {
  const { runner, ask, exchange } = openServer()
  const order: string[] = []
  const alone = () => {
    runner.runAlone()
    order.push('alone')
    return `alone, ${runner.isBatched() ? 'in' : 'without'} company`
  }
  const other = () => {
    ask('x')
    order.push('other')
    return 'other'
  }
  expect(await runner.run([{ operation: alone }, { operation: other }], exchange)).toEqual([
    'alone, without company',
    'other',
  ])
  expect(order).toEqual(['other', 'alone'])
})

test('asynchronous operations start at once, share round trips, and end independently', async () => {
  const { runner, ask, exchange, rounds } = openServer()
  const failing = async () => {
    ask('c')
    await undefined
    throw new Error('it cannot')
  }
  const operations = [async () => 'done', async () => ask('a'), async () => ask('b'), failing].map(operation =>
    runner.start(operation, exchange.context),
  )
  expect(operations.map(({ end }) => end() !== undefined)).toEqual([true, false, false, false])
  await runner.runEach(operations, exchange.sendPending)
  expect(await Promise.allSettled(operations.map(({ end }) => end()))).toMatchObject([
    { value: 'done' },
    { value: 'a!' },
    { value: 'b!' },
    { status: 'rejected' },
  ])
  expect(rounds).toEqual([['a', 'b', 'c']])
})

test('an operation without an answer stays open, and hasActed() tells whether it has started a write', async () => {
  const { runner, ask, exchange } = openServer()
  const writing = async () => {
    runner.act(() => 'a write')
    return ask('b')
  }
  const operations = [async () => ask('a'), writing].map(operation => runner.start(operation, exchange.context))
  const answer = () => Promise.reject(new Error('the server is not there'))
  await expect(runner.runEach(operations, answer)).rejects.toThrow('the server is not there')
  expect(operations.map(({ end, hasActed }) => [end(), hasActed()])).toEqual([
    [undefined, false],
    [undefined, true],
  ])
})

test('several runs proceed in parallel, each with its own context, and an operation sees one fixed time', async () => {
  const { runner, ask, exchange } = openServer()
  const operation = (name: string) => () => {
    const before = runner.now()
    return `${ask(`${name} at ${runner.context()}`)} ${runner.now() - before}`
  }
  const runs = ['here', 'there'].map(context =>
    runner.run([{ operation: operation(`from ${context}`) }], { ...exchange, context }),
  )
  expect(await Promise.all(runs)).toEqual([['from here at here! 0'], ['from there at there! 0']])
})

test('a query outside an operation throws', () => {
  const { runner, ask } = openServer()
  expect(() => runner.context()).toThrow('a statement outside an operation')
  expect(() => ask('a')).toThrow('a statement outside an operation')
})

test('run() throws the error of an operation, and the next run succeeds', async () => {
  const { runner, ask, exchange } = openServer()
  const failing = {
    operation: () => {
      throw new Error('it cannot')
    },
  }
  await expect(runner.run([{ operation: () => ask('x') }, failing], exchange)).rejects.toThrow('it cannot')
  expect(await runner.run([{ operation: () => ask('y') }], exchange)).toEqual(['y!'])
})

test('run() throws if a rerun of an operation takes different steps', async () => {
  const { runner, ask, exchange } = openServer()
  let runs = 0
  const fickle = () => {
    runs += 1
    return ask(`question ${runs}`)
  }
  await expect(runner.run([{ operation: fickle }], exchange)).rejects.toThrow('does not do the same')
})

test('operations that wait for each other throw an error', async () => {
  const { runner, exchange } = openServer()
  const cross = (ownName: string, other: string) => ({ names: [ownName], operation: () => runner.reserve(other) })
  await expect(runner.run([cross('a', 'b'), cross('b', 'a')], exchange)).rejects.toThrow('wait for each other')
})

test('independent reads within an operation share one round trip and proceed separately', async () => {
  const { runner, ask, exchange, rounds } = openServer()
  const operation = (name: string) => () => {
    const readings = [() => `${ask(`${name}1`)} ${ask(`${name}2`)}`, () => ask(`${name}3`)]
    return `${runner.readBatch(readings).join(' ')} ${ask(`${name}4`)}`
  }
  const ended = await runner.run([{ operation: operation('a') }, { operation: operation('b') }], exchange)
  expect(ended).toEqual(['a1! a2! a3! a4!', 'b1! b2! b3! b4!'])
  expect(rounds).toEqual([
    ['a1', 'a3', 'b1', 'b3'],
    ['a2', 'b2'],
    ['a4', 'b4'],
  ])
})

test('a promise from before a lost connection rejects without an unhandled rejection', async () => {
  const { runner, ask } = openServer()
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const promised = async () => {
    await undefined
    throw new Error('the server is not there')
  }
  const sendPending = async () => {
    await new Promise(setImmediate)
    throw new Error('the server is not there')
  }
  const operations = [{ operation: promised }, { operation: async () => ask('a1') }]
  await expect(runner.run(operations, { context: 'here', sendPending })).rejects.toThrow('the server is not there')
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test('a part of an operation runs no more once it has ended, however often the operation runs again', async () => {
  const { runner, ask, exchange } = openServer()
  const runs: string[] = []
  const operation = () =>
    ['a', 'b', 'c'].map(name =>
      runner.runPart(() => {
        runs.push(name)
        return `${ask(`${name}1`)} ${ask(`${name}2`)}`
      }),
    )
  expect(await runner.run([{ operation }], exchange)).toEqual([['a1! a2!', 'b1! b2!', 'c1! c2!']])
  expect(runs.join('')).toBe('aaabbbccc')
})

test('a name that a part has reserved stays reserved until its operation ends', async () => {
  const { runner, ask, exchange } = openServer()
  const order: string[] = []
  const use = (name: string) => () => {
    runner.runPart(() => runner.reserve('thread 1'))
    ask(`rows of ${name}`)
    order.push(name)
    ask(`more rows of ${name}`)
    order.push(name)
  }
  await runner.run([{ operation: use('a') }, { operation: use('b') }], exchange)
  expect(order.join('')).toBe('aaabbb')
})
