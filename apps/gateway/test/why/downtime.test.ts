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
