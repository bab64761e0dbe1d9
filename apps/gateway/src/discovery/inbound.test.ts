import { expect, test } from 'vitest'
import { parseConfig } from '../config/read-config.ts'
import { listInbound } from './inbound.ts'

test.each([
  ['nothing', {}, false],
  ['a listener', { listen: { port: 2525 } }, true],
  ['an intake', { intake: { secret: 'x'.repeat(32) } }, true],
])('listInbound(): mail comes in by %s', (_, email, takesMail) => {
  const config = parseConfig({ origin: 'https://agents.test', agents: { echo: { use: 'builtin:echo' } }, email })
  expect(listInbound(config).includes('email')).toBe(takesMail)
})
