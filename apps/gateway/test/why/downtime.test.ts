import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'
import { awaitReason, expectWellFormed, factsOf } from './ask-why.ts'

let gateway: SlowGateway

beforeAll(async () => {
  gateway = await openSlowGateway({ slow: { queue: 'queue' }, echo: { use: 'builtin:echo' } })
})
afterAll(() => gateway.close())

test('an answer that came late because the gateway was down says from when to when', async () => {
  const id = await gateway.post('slow', 'hello')
  await gateway.nextRun()
  await gateway.restart()
  ;(await gateway.nextRun()).finish()
  const found = await awaitReason(gateway, id, 'gateway_was_down')
  expect(found.sentence).toMatch(
    /^Answered late, at [\d:]+ UTC to https:\/\/mastodon\.test\/\S+: the gateway was down from [\d:]+ UTC to [\d:]+ UTC \(\d+ seconds?\)$/,
  )
  expect(factsOf(found)).toContain('a gateway began')
  expect(found.fix?.text).toContain('supervisor')
  expectWellFormed(found)
})

test('a mail that was sent while the gateway was down says so', async () => {
  await gateway.gateway().stop()
  // A mail's date has whole seconds.
  await delay(1_100)
  const date = new Date()
  await delay(1_100)
  await gateway.restart()
  const { mail } = gateway.simulation
  const sent = await mail.deliver({ to: 'echo@agents.test', text: 'hello', date })
  expect(sent.answer).toBe(250)
  const found = await awaitReason(gateway, sent.mail.messageId, 'gateway_was_down')
  expect(found.sentence).toMatch(
    /^Answered late, at [\d:]+ UTC to alice@alice\.test: its peer sent it while the gateway was down from [\d:]+ UTC to [\d:]+ UTC \(\d+ seconds?\)$/,
  )
  expect(factsOf(found)).toContain('its peer sent it, as it claims')
  expectWellFormed(found)
  const prompt = await mail.deliver({ to: 'echo@agents.test', text: 'hello again' })
  await awaitReason(gateway, prompt.mail.messageId, 'answered')
})
