import { randomUUID } from 'node:crypto'
import { disturbances } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway, operatorToken } from '../setup/gateway.ts'
import { askWhy, awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ delivery: { retry_after: 900 } }))
})
afterAll(() => gateway.close())

const mastodon = 'mastodon.test'

/** Sends a direct post of Alice's to the echo agent. Returns the id of the activity. */
async function postHello(from = `alice@${mastodon}`): Promise<string> {
  const { fediverse } = gateway.simulation
  const receipt = await fediverse.deliver({ to: '@echo@agents.test', text: 'hello', visibility: 'direct', from })
  expect(receipt.status).toBe(202)
  return receipt.activityId
}

async function mail(from = 'alice@alice.test'): Promise<string> {
  const receipt = await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello', from })
  expect(receipt.answer).toBe(250)
  return receipt.mail.messageId
}

describe('why explains an answer', () => {
  test('that arrived, with time and inbox', async () => {
    const id = await mail()
    const reason = await awaitReason(gateway, id, 'answered')
    expect(reason.sentence).toMatch(/^Answered at [\d :-]+ UTC to \S*alice@alice\.test$/)
    expect(reason).not.toHaveProperty('fix')
    expect(listFacts(reason)).toContain('received by email from @alice@alice.test (proven) for @echo@agents.test')
    expectWellFormed(reason)
  })

  test('that an inbox refuses permanently', async () => {
    const restore = gateway.simulation.fediverse.disturb(mastodon, {
      method: 'POST',
      answer: { status: 410 },
    })
    const id = await postHello()
    const reason = await awaitReason(gateway, id, 'delivery_refused')
    restore()
    expect(reason.sentence).toMatch(
      /^The answer was not delivered: https:\/\/mastodon\.test\/\S+ refused it for good \(.*410.*\), at [\d :-]+ UTC$/,
    )
    expect(reason.fix?.command).toMatch(/^npx postern deliveries retry \d+$/)
    // The number of the delivery finds the same explanation.
    const deliveryNumber = reason.fix?.command?.split(' ').at(-1)
    expect((await askWhy(gateway, `d${deliveryNumber}`)).explanations[0]).toMatchObject({ message: reason.message })
    expectWellFormed(reason)
  })

  test('that waits until its next try', async () => {
    const restore = gateway.simulation.mail.refuse({ code: 451, message: 'try again later' })
    const id = await mail()
    const reason = await awaitReason(gateway, id, 'delivery_waiting')
    restore()
    expect(reason.sentence).toMatch(
      /^The answer is not delivered yet, since [\d :-]+ UTC: alice@alice\.test did not take it \(the mail server put it off: 451, 1 try\); next try at [\d :-]+ UTC$/,
    )
    expect(reason.fix?.command).toMatch(/^npx postern deliveries retry \d+$/)
    // The next delivery of the conversation waits for the first one.
    const reply = await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'again', inReplyTo: id })
    const queued = await awaitReason(gateway, reply.mail.messageId, 'delivery_queued')
    expect(queued.sentence).toContain('it waits behind an earlier one of the same conversation to alice@alice.test')
    for (const explanation of [reason, queued]) expectWellFormed(explanation)
  })

  test('whose host asked to wait', async () => {
    const host = 'gotosocial.test'
    const busy = { answer: { status: 503, headers: { 'retry-after': '3600' } }, method: 'POST' }
    const restore = gateway.simulation.fediverse.disturb(host, busy)
    await postHello(`alice@${host}`)
    await eventually(async () =>
      (await gateway.deliveries()).some(({ to, state }) => to.includes(host) && state === 'later'),
    )
    const id = await postHello(`alice@${host}`)
    const reason = await awaitReason(gateway, id, 'host_asked_for_time')
    restore()
    expect(reason.sentence).toMatch(/its host asked for time \(Retry-After\)\); next try at [\d :-]+ UTC$/)
    expectWellFormed(reason)
  })

  test('whose host the circuit breaker pauses after five failures', async () => {
    const host = 'rfc9421.test'
    const restore = gateway.simulation.fediverse.disturb(host, { ...disturbances.down, method: 'POST' })
    const ids: string[] = []
    for (let count = 0; count < 6; count += 1) ids.push(await postHello(`alice@${host}`))
    const reasons = await eventually(async () => {
      const reasons = await Promise.all(ids.map(async id => (await askWhy(gateway, id)).explanations[0]))
      return reasons.some(explanation => explanation?.code === 'breaker_open') && reasons
    })
    restore()
    const reason = reasons.find(candidate => candidate?.code === 'breaker_open')
    expect(reason?.sentence).toMatch(
      /^The answer is not delivered yet, since [\d :-]+ UTC: https:\/\/\S+ did not take it \(its host did not answer several times in a row and is left alone\); next try at [\d :-]+ UTC$/,
    )
    expect(reason?.fix?.command).toMatch(/^npx postern deliveries retry \d+$/)
  })

  test('to a deleted mailbox, which the gateway then suppresses', async () => {
    const restore = gateway.simulation.mail.refuse({ code: 550, message: '5.1.1 no such user', at: 'rcpt', times: 1 })
    const first = await unprovenMail('gone@nodmarc.test')
    const refusedReason = await awaitReason(gateway, first, 'delivery_refused')
    restore()
    expect(refusedReason.sentence).toMatch(
      /gone@nodmarc\.test refused it for good \(the mail server refused it: 550 5\.1\.1\), at [\d :-]+ UTC$/,
    )
    const second = await unprovenMail('gone@nodmarc.test')
    const suppressed = await awaitReason(gateway, second, 'suppressed')
    expect(suppressed.sentence).toMatch(
      /^The answer was not delivered: gone@nodmarc\.test is suppressed \(the mail server refused it: 550 5\.1\.1\), at [\d :-]+ UTC$/,
    )
    expect(suppressed.fix?.command).toBe('npx postern suppressions lift echo gone@nodmarc.test')
    for (const explanation of [refusedReason, suppressed]) expectWellFormed(explanation)
  })

  test('that a server accepted and later returned', async () => {
    const id = await unprovenMail('moved@nodmarc.test')
    const { envelope } = await gateway.simulation.mail.awaitReply(id, 30_000)
    const report = await postReport(envelope.from)
    const reason = await awaitReason(gateway, id, 'bounced')
    expect(reason.sentence).toMatch(
      /^The answer was not delivered: it was taken and came back from moved@nodmarc\.test \(bounced: 5\.1\.1\), at [\d :-]+ UTC$/,
    )
    const event = await awaitReason(gateway, report, 'automatic')
    expect(event.sentence).toMatch(/^Not answered: .*, at [\d :-]+ UTC$/)
    for (const explanation of [reason, event]) expectWellFormed(explanation)
  })

  test('that an operator dropped', async () => {
    const restore = gateway.simulation.mail.refuse({ code: 451, message: 'later' })
    const id = await unprovenMail('dropped@nodmarc.test')
    const waitingReason = await awaitReason(gateway, id, 'delivery_waiting')
    restore()
    const deliveryNumber = waitingReason.fix?.command?.split(' ').at(-1)
    await fetch(`${gateway.url()}/operator/api/deliveries/${deliveryNumber}/drop`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operatorToken}` },
    })
    const dropped = await awaitReason(gateway, id, 'dropped')
    expect(dropped.sentence).toContain('an operator dropped it')
    expectWellFormed(dropped)
  })
})

/** Sends a mail whose author nothing proves, so that it lifts no suppression. */
async function unprovenMail(from: string): Promise<string> {
  const receipt = await gateway.simulation.mail.deliver({
    to: 'echo@agents.test',
    text: `hello ${randomUUID()}`,
    from,
    sign: false,
  })
  expect(receipt.answer).toBe(250)
  return receipt.mail.messageId
}

/** Sends a report as a mail server writes it (RFC 3464). Returns its Message-ID. */
async function postReport(to: string): Promise<string> {
  const messageId = `${randomUUID()}@mx.nodmarc.test`
  const fields =
    'Reporting-MTA: dns; mx.nodmarc.test\n\nFinal-Recipient: rfc822; moved@nodmarc.test\nAction: failed\nStatus: 5.1.1'
  const lines = [
    `From: MAILER-DAEMON@mx.nodmarc.test`,
    `To: ${to}`,
    `Message-ID: <${messageId}>`,
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    `\n--b\nContent-Type: text/plain\n\nSorry.\n`,
    `--b\nContent-Type: message/delivery-status\n\n${fields}\n\n`,
    '--b--\n',
  ]
  const octets = Buffer.from(lines.join('\n').replaceAll('\n', '\r\n'))
  const envelope = { from: '', to: [to] }
  const answer = await gateway.simulation.mail.sendSmtp({
    octets,
    messageId,
    envelope,
    ip: '127.0.0.1',
    helo: 'mx.nodmarc.test',
  })
  expect(answer.code).toBe(250)
  return messageId
}
