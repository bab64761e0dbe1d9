import { Unavailable } from '@postern/core'
import { afterEach, expect, test } from 'vitest'
import { readPostgresUrl } from '../server/settings.ts'
import type { BlockingLine } from './blocking-line.ts'
import { openBlockingLine } from './blocking-line.ts'
import type { LineEvent } from './messages.ts'

const program = new URL('../../../test/late-connection.ts', import.meta.url)
const { server, schema } = readPostgresUrl('postgres://nobody@nowhere.invalid/none')

let line: BlockingLine | undefined
afterEach(() => line?.close())

/** Asks one statement for the rows of an owner; `manner`: what the connection does with the answer. */
function open(longestWaitMs: number) {
  const events: LineEvent[] = []
  const opened = openBlockingLine({ server, schema, holder: undefined, program, longestWaitMs }, event =>
    events.push(event),
  )
  line = opened
  const ask = (manner: string, owner: string) => {
    const step = { id: 1, text: 'SELECT rows', values: [manner, owner] }
    return opened.ask({ steps: [step], isBeginning: true })[0]?.rows[0]
  }
  return { ask, events }
}

test('a late answer reaches nobody: no owner gets the rows of another', () => {
  const { ask, events } = open(4_000)
  expect(ask('prompt', 'ann')).toMatchObject({ owner: 'ann' })
  expect(() => ask('late', 'bob')).toThrow(Unavailable)
  for (const owner of ['cid', 'dan', 'eve']) expect(ask('prompt', owner)).toMatchObject({ owner })
  expect(events).toEqual([{ lost: 'the connection does not answer what it is asked' }])
})

test('a wake-up without an answer, late or false, leaves question and answer in step', () => {
  const { ask, events } = open(20_000)
  for (const owner of ['ann', 'bob', 'cid']) expect(ask('woken', owner)).toMatchObject({ owner })
  for (const owner of ['dan', 'eve']) expect(ask('prompt', owner)).toMatchObject({ owner })
  expect(events).toEqual([])
})

test.each(['twice', 'former'])(
  'an answer that comes %s again gives the connection up, and the next one serves',
  manner => {
    const { ask, events } = open(20_000)
    expect(ask('prompt', 'ann')).toMatchObject({ owner: 'ann' })
    const told = [manner, 'prompt', 'prompt'].map((each, at) => {
      try {
        return ask(each, `owner ${at}`)?.owner
      } catch (error) {
        return error
      }
    })
    expect(told.filter(each => each instanceof Unavailable)).toHaveLength(1)
    for (const [at, each] of told.entries()) if (!(each instanceof Error)) expect(each).toBe(`owner ${at}`)
    expect(events).toHaveLength(1)
    expect(ask('prompt', 'zoe')).toMatchObject({ owner: 'zoe' })
  },
)

test('a new connection sends the text of each statement again', () => {
  const { ask } = open(4_000)
  expect([ask('prompt', 'ann')?.text, ask('prompt', 'ann')?.text]).toEqual(['SELECT rows', null])
  expect(() => ask('never', 'bob')).toThrow('the database does not answer now')
  expect(ask('prompt', 'cid')).toEqual({ owner: 'cid', text: 'SELECT rows' })
})
