import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'
import { awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

let gateway: SlowGateway

beforeAll(async () => {
  gateway = await openSlowGateway({ slow: { queue: 'queue' }, echo: { use: 'builtin:echo' } })
})
afterAll(() => gateway.close())

test('why explains a late answer by the gateway’s downtime, with its start and end', async () => {
  const id = await gateway.post('slow', 'hello')
  await gateway.nextRun()
  await gateway.restart()
  ;(await gateway.nextRun()).finish()
  const reason = await awaitReason(gateway, id, 'gateway_was_down')
  expect(reason.sentence).toMatch(
    /^Answered late, at [\d :-]+ UTC to https:\/\/mastodon\.test\/\S+: the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/,
  )
  expect(listFacts(reason)).toContain('a gateway began')
  expect(reason.fix?.text).toContain('supervisor')
  expectWellFormed(reason)
})

test('why explains a late answer to a mail that arrived while the gateway was down', async () => {
  await gateway.gateway().stop()
  // A mail's date has whole seconds.
  await delay(1_100)
  const date = new Date()
  await delay(1_100)
  await gateway.restart()
  const { mail } = gateway.simulation
  const receipt = await mail.deliver({ to: 'echo@agents.test', text: 'hello', date })
  expect(receipt.answer).toBe(250)
  const reason = await awaitReason(gateway, receipt.mail.messageId, 'gateway_was_down')
  expect(reason.sentence).toMatch(
    /^Answered late, at [\d :-]+ UTC to alice@alice\.test: its peer sent it while the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/,
  )
  expect(listFacts(reason)).toContain('its peer sent it, as it claims')
  expectWellFormed(reason)
  // A mail's date has whole seconds, so a date within the second of the start might lie before it.
  await delay(1_100)
  const promptReceipt = await mail.deliver({ to: 'echo@agents.test', text: 'hello again' })
  await awaitReason(gateway, promptReceipt.mail.messageId, 'answered')
})

test('why also finds the downtime of a killed gateway', async () => {
  let calls = 0
  const hook = createServer((_, response) => {
    calls += 1
    // The first call is still open when the gateway dies.
    if (calls > 1) response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"late"}')
  })
  await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve))
  const secret = 'whsec_b3BlbnNlc2FtZW9wZW5zZXNhbWVvcGVuc2VzYW1l'
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  const killedGateway = await openKilledGateway({ overrides: { agents: { hook: { use: 'webhook', url, secret } } } })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const requestOperator = async <Answer>(path: string) =>
    (await (await fetch(`${killedGateway.url}/operator/api${path}`, { headers })).json()) as Answer
  try {
    const receipt = await killedGateway.simulation.mail.deliver({ to: 'hook@agents.test', text: 'hello' })
    await eventually(async () => calls > 0)
    await killedGateway.gateway.kill()
    await killedGateway.gateway.start()
    const reason = await awaitReason({ requestOperator }, receipt.mail.messageId, 'gateway_was_down')
    expect(reason.sentence).toMatch(/: the gateway was down from [\d :-]+ UTC to [\d :-]+ UTC \(\d+ \w+\)$/)
    expectWellFormed(reason)
  } finally {
    await killedGateway.close()
    hook.closeAllConnections()
    hook.close()
  }
})
