import type { Log, LogFields } from '@postern/message'
import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { maskLog } from './masked-log.ts'
import { createSecretMask } from './secret-mask.ts'

function openLog() {
  const lines: { fields: LogFields; text: string }[] = []
  const write = (fields: LogFields, text: string) => void lines.push({ fields, text })
  const log: Log = { debug: write, info: write, warn: write, error: write }
  return { lines, log: maskLog(log, createSecretMask(['first-secret'])) }
}

test('every log level masks secrets in the message and the fields', () => {
  const { lines, log } = openLog()
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    log[level]({ url: 'x?first-secret', list: [{ a: 'first-secret' }] }, 'with first-secret')
  expect(lines).toEqual(Array(4).fill({ fields: { url: 'x?(set)', list: [{ a: '(set)' }] }, text: 'with (set)' }))
})

test('an error keeps its class, but no secret in its stack, causes and members', () => {
  const { lines, log } = openLog()
  const inner = Object.assign(new Error('first-secret is wrong'), { code: 'EFIRST', input: 'first-secret' })
  const err = new Unavailable('cannot use first-secret', { cause: new AggregateError([inner], 'all failed') })
  log.error({ err }, 'failed')
  const loggedError = lines[0]?.fields.err as Unavailable
  const aggregate = loggedError.cause as AggregateError
  expect(loggedError).toBeInstanceOf(Unavailable)
  expect(
    [loggedError.message, loggedError.stack, aggregate.errors[0].message, aggregate.errors[0].input].join(),
  ).not.toContain('first-secret')
  expect(loggedError.message).toBe('cannot use (set)')
  expect(aggregate.errors[0].code).toBe('EFIRST')
  expect(err.message).toBe('cannot use first-secret')
})

test('the log receives an error without secrets unchanged, even if its causes form a cycle', () => {
  const { lines, log } = openLog()
  const err = new Error('plain')
  log.error({ err }, 'failed')
  expect(lines[0]?.fields.err).toBe(err)
  const circle = new Error('first-secret')
  circle.cause = circle
  log.error({ err: circle }, 'failed')
  expect(lines[1]?.fields.err).toMatchObject({ message: '(set)' })
})
