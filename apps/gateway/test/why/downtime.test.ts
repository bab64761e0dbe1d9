import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'
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
    /^Answered late, at [\d :-]+ UTC to https:\/\/mastodon\.test\/\S+: the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/,
  )
  expect(factsOf(found)).toContain('a gateway began')
  expect(found.fix?.text).toContain('supervisor')
  expectWellFormed(found)
})

test('why tells of a mail during a downtime of the gateway', async () => {
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
    /^Answered late, at [\d :-]+ UTC to alice@alice\.test: its peer sent it while the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/,
  )
  expect(factsOf(found)).toContain('its peer sent it, as it claims')
  expectWellFormed(found)
  // Its date is a whole second: one of this second might be from before the start.
  await delay(1_100)
  const prompt = await mail.deliver({ to: 'echo@agents.test', text: 'hello again' })
  await awaitReason(gateway, prompt.mail.messageId, 'answered')
})

test('a killed gateway leaves its downtime behind, too', async () => {
  let calls = 0
  const hook = createServer((_, response) => {
    calls += 1
    // The first call is still open when the gateway dies.
    if (calls > 1) response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"late"}')
  })
  await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve))
  const secret = 'whsec_b3BlbnNlc2FtZW9wZW5zZXNhbWVvcGVuc2VzYW1l'
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  const killed = await openKilledGateway({ overrides: { agents: { hook: { use: 'webhook', url, secret } } } })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const ask = async <Answer>(path: string) =>
    (await (await fetch(`${killed.url}/operator/api${path}`, { headers })).json()) as Answer
  try {
    const sent = await killed.simulation.mail.deliver({ to: 'hook@agents.test', text: 'hello' })
    await eventually(async () => calls > 0)
    await killed.gateway.kill()
    await killed.gateway.start()
    const found = await awaitReason({ ask }, sent.mail.messageId, 'gateway_was_down')
    expect(found.sentence).toMatch(/: the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/)
    expectWellFormed(found)
  } finally {
    await killed.close()
    hook.closeAllConnections()
    hook.close()
  }
})
