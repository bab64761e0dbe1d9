import type { DeliveryRecord } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { classifySmtpError } from '../../src/submit/smtp-error.ts'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

let gateway: MailGateway
let messageCount = 0
const bounceAddressByRecipient = new Map<string, string>()
let onSent = (_to: string) => {}
/** The immediate replies of the smarthost, by address. */
const refusalByAddress: Record<string, string> = {}

beforeAll(async () => {
  gateway = await openMailGateway({
    runsAgents: true,
    async submitMail({ from, to }) {
      const refusal = refusalByAddress[to[0] ?? '']
      if (refusal) throw classifySmtpError({ responseCode: 550, response: refusal, command: 'RCPT TO' })
      bounceAddressByRecipient.set(to[0] ?? '', from)
      onSent(to[0] ?? '')
      return { response: '250 2.0.0' }
    },
  })
})
afterAll(() => gateway.close())

async function findDelivery(to: string): Promise<DeliveryRecord | undefined> {
  return (await gateway.store.listDeliveries({ limit: 100 })).find(delivery => delivery.to === to)
}

async function waitForDelivery(to: string, state: DeliveryRecord['state']): Promise<DeliveryRecord> {
  return expect
    .poll(() => findDelivery(to), { interval: 10 })
    .toMatchObject({ state })
    .then(async () => {
      const delivery = await findDelivery(to)
      if (!delivery) throw new Error('no delivery')
      return delivery
    })
}

/** Lets a person write and get an answer, and returns the bounce address of the answer. */
async function answerPerson(person: string): Promise<string> {
  messageCount += 1
  await gateway.post(
    `From: ${person}\nTo: echo@${mailDomain}\nMessage-ID: <q${messageCount}@nodmarc.test>\n\nHello ${messageCount}\n`,
    {
      from: person,
      to: `echo@${mailDomain}`,
    },
  )
  await waitForDelivery(person, 'sent')
  return bounceAddressByRecipient.get(person) ?? ''
}

interface Report {
  readonly to: string
  readonly fields: string
  readonly from?: string
  readonly type?: string
  /** The part that people read. */
  readonly humanText?: string
  /** The host of the author. */
  readonly host?: string
  readonly author?: string
}

/** Posts a report in the form of an MTA (RFC 3464). */
async function postAcceptedReport(report: Report) {
  const answer = await postReport(report)
  expect(answer.status).toBe(200)
  return gateway.readLatestMessage()
}

function postReport({ to, fields, from = '', type = 'delivery-status', humanText = 'Sorry.', ...reporter }: Report) {
  const { host = 'mx.nodmarc.test', author } = reporter
  messageCount += 1
  const message = [
    author ?? `From: MAILER-DAEMON@${host}`,
    `To: ${to}`,
    `Message-ID: <r${messageCount}@mx.nodmarc.test>`,
    'Auto-Submitted: auto-replied',
    `Content-Type: multipart/report; report-type=${type};\n boundary="=b/${messageCount}"`,
    `\nThis is a report.\n\n--=b/${messageCount}`,
    `Content-Type: text/plain\n\n${humanText}\n`,
    `--=b/${messageCount}`,
    `Content-Type: message/${type}\n\n${fields}`,
    `--=b/${messageCount}`,
    'Content-Type: text/rfc822-headers\n\nSubject: Re: Hello\n',
    `--=b/${messageCount}--\n`,
  ].join('\n')
  return gateway.post(message, { from, to })
}

const formatFailure = (status: string, diagnostic = '') =>
  `Reporting-MTA: dns; mx.nodmarc.test\n\nFinal-Recipient: rfc822; someone@elsewhere.test\nAction: failed\nStatus: ${status}\n${diagnostic && `Diagnostic-Code: smtp; ${diagnostic}\n`}`

const findSuppression = (peer: string) =>
  gateway.store.findRelation({ via: 'email', agent: 'echo', relation: 'suppressed', peer })

test('a hard bounce fails the delivery and suppresses the address, which gets no more mail (EM-4.4)', async () => {
  const person = 'gone@nodmarc.test'
  const verp = await answerPerson(person)
  const record = await postAcceptedReport({
    to: verp,
    fields: formatFailure('5.1.1', '550 5.1.1 <gone@nodmarc.test>: no such user'),
  })
  expect(record).toMatchObject({ state: 'ignored', deliveries: [] })
  expect(record.flags).toEqual(expect.arrayContaining(['bounce', 'bounce_address', 'bounce_hard']))
  expect(await waitForDelivery(person, 'dead')).toMatchObject({ last_error: 'bounced: 5.1.1' })
  expect(await findSuppression(person)).toMatchObject({ target: 'bounced: 5.1.1' })

  bounceAddressByRecipient.delete(person)
  await gateway.post(`From: ${person}\nTo: echo@${mailDomain}\nMessage-ID: <again@nodmarc.test>\n\nAgain\n`, {
    from: person,
    to: `echo@${mailDomain}`,
  })
  const error = 'Cannot send mail: this address is suppressed (bounced: 5.1.1)'
  await expect
    .poll(async () => (await gateway.store.findMessage('again@nodmarc.test'))?.deliveries)
    .toMatchObject([{ state: 'dead', last_error: error }])
  expect(bounceAddressByRecipient.has(person)).toBe(false)
})

test('the bounce address proves a report, under any policy of its server’s domain', async () => {
  gateway.simulation.dns.set('_dmarc.strictmx.test', { TXT: ['v=DMARC1; p=reject'] })
  const person = 'lost@nodmarc.test'
  const verp = await answerPerson(person)
  const fields = formatFailure('5.1.1')
  await postAcceptedReport({ to: verp, fields, host: 'strictmx.test' })
  expect(await waitForDelivery(person, 'dead')).toMatchObject({ last_error: 'bounced: 5.1.1' })
  const forgedVerp = verp.replace(/[0-9a-f]{20}@/, `${'0'.repeat(20)}@`)
  const refusedReports = await Promise.all([
    postReport({ to: forgedVerp, fields, host: 'strictmx.test' }),
    postReport({ to: verp, fields, host: 'strictmx.test', from: 'somebody@strictmx.test' }),
  ])
  expect(refusedReports.map(({ status }) => status)).toEqual([403, 403])
})

test.each([
  ['nobody', 'X-From: nobody'],
  ['a name without an address', 'From: Mail Delivery Subsystem'],
  ['the null address', 'From: <>'],
  ['a group', 'From: Postmasters:;'],
])('the gateway accepts a report whose From is %s at the address for reports', async (what, author) => {
  const person = `${what.replaceAll(' ', '-')}@nodmarc.test`
  const verp = await answerPerson(person)
  const record = await postAcceptedReport({ to: verp, author, fields: formatFailure('5.1.1') })
  expect(record).toMatchObject({ state: 'ignored', message: { sender: { verified: false } } })
  expect(await waitForDelivery(person, 'dead')).toMatchObject({ last_error: 'bounced: 5.1.1' })
  const forgedVerp = verp.replace(/.@/, char => (char === '0@' ? '1@' : '0@'))
  for (const to of [forgedVerp, `echo@${mailDomain}`]) {
    expect((await postReport({ to, author, fields: formatFailure('5.1.1') })).status).toBe(400)
  }
})

test('a proven author with a suppressed address gets answers again after writing', async () => {
  const person = 'alice@alice.test'
  const firstMail = await gateway.postMail({ from: person })
  await waitForDelivery(person, 'sent')
  await postAcceptedReport({ to: bounceAddressByRecipient.get(person) ?? '', fields: formatFailure('5.1.1') })
  expect(await findSuppression(person)).toBeDefined()
  const nextMail = await gateway.postMail({ from: person, text: 'I am here.' })
  expect([firstMail.answer.status, nextMail.answer.status]).toEqual([200, 200])
  await expect
    .poll(async () => (await gateway.store.findMessage(nextMail.mail.messageId))?.deliveries)
    .toMatchObject([{ state: 'sent' }])
  expect(await findSuppression(person)).toBeUndefined()
})

test('a repeated old mail from another client lifts no suppression', async () => {
  const key = createDkimKey(2048)
  gateway.simulation.dns.set('old._domainkey.alice.test', { TXT: [keyRecord(key)] })
  const person = 'alice@alice.test'
  const postAgedMail = (days: number) => {
    const date = new Date(gateway.system.now() - days * 86_400_000).toUTCString()
    const draft = `From: ${person}\nTo: echo@${mailDomain}\nSubject: x\nDate: ${date}\nMessage-ID: <old${days}@alice.test>\n\nOld.\n`
    return gateway.post(signText(draft, { domain: 'alice.test', selector: 'old', key }), { to: `echo@${mailDomain}` })
  }
  await gateway.postMail({ from: person })
  await waitForDelivery(person, 'sent')
  await postAcceptedReport({ to: bounceAddressByRecipient.get(person) ?? '', fields: formatFailure('5.1.1') })
  expect((await postAgedMail(6)).status).toBe(200)
  expect(await findSuppression(person)).toBeDefined()
  expect((await postAgedMail(4)).status).toBe(200)
  expect(await findSuppression(person)).toBeUndefined()
})

test.each([
  ['550 No such user here', true],
  ['550 5.1.1 <someone@elsewhere.test> rejected', true],
  ['550 User unknown', true],
  ['550 Requested action not taken: policy', false],
  ['554 5.7.1 looks like spam', false],
  ['Network error on destination MXs', false],
])('a report of OpenSMTPD, which only says 5.0.0, suppresses by the line "%s": %s', async (line, suppresses) => {
  messageCount += 1
  const person = `terse${messageCount}@nodmarc.test`
  const to = await answerPerson(person)
  const mailText = `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    someone@elsewhere.test: ${line}\n\n    Below is a copy.`
  await postAcceptedReport({ to, humanText: mailText, fields: formatFailure('5.0.0') })
  await waitForDelivery(person, 'dead')
  expect((await findSuppression(person)) !== undefined).toBe(suppresses)
})

test('a report of Exim has its error below the address', async () => {
  const to = await answerPerson('unrouted@nodmarc.test')
  const mailText =
    'This message was created automatically.\n\n  someone@elsewhere.test\n    Unrouteable address\n\nMore.'
  await postAcceptedReport({ to, humanText: mailText, fields: formatFailure('5.0.0') })
  await waitForDelivery('unrouted@nodmarc.test', 'dead')
  expect(await findSuppression('unrouted@nodmarc.test')).toBeDefined()
})

test('the text of a temporary report never makes it permanent', async () => {
  const to = await answerPerson('later@nodmarc.test')
  const record = await postAcceptedReport({
    to,
    humanText: 'someone@elsewhere.test: 450 No such user',
    fields: formatFailure('4.0.0'),
  })
  expect(record.flags).toContain('bounce_soft')
  expect(await findSuppression('later@nodmarc.test')).toBeUndefined()
})

test.each([
  ['550 5.1.1 No such user', true],
  ['550 5.7.1 Not today', false],
  ['550 No such user', false],
])('an immediate refusal of the smarthost with "%s" suppresses the address: %s', async (reply, suppresses) => {
  messageCount += 1
  const person = `at-once${messageCount}@nodmarc.test`
  refusalByAddress[person] = reply
  await gateway.post(
    `From: ${person}\nTo: echo@${mailDomain}\nMessage-ID: <once${messageCount}@nodmarc.test>\n\nHello\n`,
    {
      from: person,
      to: `echo@${mailDomain}`,
    },
  )
  await waitForDelivery(person, 'dead')
  const error = 'the mail server refused it: 550 5.1.1'
  expect(await findSuppression(person)).toEqual(suppresses ? expect.objectContaining({ target: error }) : undefined)
})

test('a refusal of the content is final, and does not suppress the address', async () => {
  const verp = await answerPerson('picky@nodmarc.test')
  await postAcceptedReport({ to: verp, fields: formatFailure('5.7.1', '550 5.7.1 looks like spam') })
  expect(await waitForDelivery('picky@nodmarc.test', 'dead')).toMatchObject({ last_error: 'bounced: 5.7.1' })
  expect(await findSuppression('picky@nodmarc.test')).toBeUndefined()
})

test('the gateway retries hours after a soft bounce, and ignores a delay report', async () => {
  const person = 'full@nodmarc.test'
  const verp = await answerPerson(person)
  const lateReport = await postAcceptedReport({ to: verp, fields: formatFailure('4.2.2').replace('failed', 'delayed') })
  expect(lateReport.flags).toContain('delivery_delayed')
  expect(await findDelivery(person)).toMatchObject({ state: 'sent' })
  const softReport = await postAcceptedReport({ to: verp, fields: formatFailure('4.2.2', '452 4.2.2 mailbox full') })
  expect(softReport.flags).toContain('bounce_soft')
  expect(await findDelivery(person)).toMatchObject({ state: 'later', last_error: 'bounced: 4.2.2' })
  const secondReport = Promise.withResolvers<void>()
  onSent = to => to === person && secondReport.resolve()
  gateway.system.advance(4 * 3_600_000 + 1_000)
  gateway.store.notify('work', undefined)
  await secondReport.promise
  await waitForDelivery(person, 'sent')
  expect(await findSuppression(person)).toBeUndefined()
})

describe('a report about an unknown mail, or to an unknown address (EM-65)', () => {
  test.each<[what: string, change: (verp: string) => string]>([
    ['a forged signature', verp => verp.replace(/[0-9a-f]{20}@/, `${'0'.repeat(20)}@`)],
    ['another delivery under the same signature', verp => verp.replace(/\+b\.\d+\./, '+b.1.')],
    ['the address of another agent', verp => verp.replace('echo+', 'helper+')],
    ['no token at all', () => `echo@${mailDomain}`],
  ])('has no effect beyond its storage if it is %s', async (_what, change) => {
    const person = `stays${messageCount}@nodmarc.test`
    const verp = await answerPerson(person)
    const record = await postAcceptedReport({ to: change(verp), fields: formatFailure('5.1.1') })
    expect(record).toMatchObject({ state: 'ignored' })
    expect(record.flags).not.toContain('bounce_hard')
    expect(await findDelivery(person)).toMatchObject({ state: 'sent' })
    expect(await findSuppression(person)).toBeUndefined()
  })

  test('is a vacation notice without report fields, and changes nothing', async () => {
    const verp = await answerPerson('away@nodmarc.test')
    const answer = await gateway.post(
      `From: away@nodmarc.test\nTo: ${verp}\nSubject: Undelivered Mail Returned to Sender\n\nStatus: 5.1.1\nAction: failed\n`,
      { from: '', to: verp },
    )
    expect(answer.status).toBe(200)
    expect((await gateway.readLatestMessage()).flags).toEqual(['bounce', 'bounce_address'])
    expect(await findDelivery('away@nodmarc.test')).toMatchObject({ state: 'sent' })
  })

  test('is a personal mail, which does not reach the agent', async () => {
    const verp = await answerPerson('odd@nodmarc.test')
    await gateway.post(`From: odd@nodmarc.test\nTo: ${verp}\n\nHello\n`, { from: 'odd@nodmarc.test', to: verp })
    expect(await gateway.readLatestMessage()).toMatchObject({ state: 'ignored', flags: ['bounce_address'] })
  })
})

describe('feedback reports (RFC 5965)', () => {
  const postComplaint = (verp: string, type = 'abuse') =>
    postAcceptedReport({
      to: `echo@${mailDomain}`,
      from: 'fbl@isp.test',
      type: 'feedback-report',
      fields: `Feedback-Type: ${type}\nVersion: 1\nOriginal-Mail-From: <${verp}>\n`,
    })

  test('suppress the address of a complaint, and leave the delivery as sent', async () => {
    const verp = await answerPerson('angry@nodmarc.test')
    const record = await postComplaint(verp)
    expect(record).toMatchObject({ state: 'ignored' })
    expect(record.flags).toContain('feedback_report')
    expect(await findDelivery('angry@nodmarc.test')).toMatchObject({
      state: 'sent',
      last_error: 'complained of: abuse',
    })
    expect(await findSuppression('angry@nodmarc.test')).toMatchObject({ target: 'complained of: abuse' })
  })

  test('have no effect for praise, or for a complaint about other mail', async () => {
    const verp = await answerPerson('fan@nodmarc.test')
    await postComplaint(verp, 'not-spam')
    await postComplaint(`echo+b.1.${'0'.repeat(20)}@${mailDomain}`)
    expect(await findSuppression('fan@nodmarc.test')).toBeUndefined()
  })
})

describe('a report without machine-readable parts to one delivery’s address (RFC 5321 §4.5.5)', () => {
  interface PlainReport {
    readonly words: string
    readonly subject?: string
    readonly author?: string
    readonly from?: string
  }

  async function postBounce({
    words,
    subject = 'failure notice',
    author = 'MAILER-DAEMON@mx.nodmarc.test',
    from = '',
  }: PlainReport) {
    messageCount += 1
    const person = `plain${messageCount}@nodmarc.test`
    const verp = await answerPerson(person)
    messageCount += 1
    const head = `From: ${author}\nTo: ${verp}\nSubject: ${subject}\nMessage-ID: <p${messageCount}@mx.nodmarc.test>`
    const copy =
      '--- Below this line is a copy of the message.\n\nSubject: Re: Hello\n\nWe have 4.2.2 of them, and no such user.'
    const answer = await gateway.post(`${head}\n\n${words.replace('<person>', `<${person}>`)}\n\n${copy}\n`, {
      from,
      to: verp,
    })
    expect(answer.status).toBe(200)
    const { flags } = await gateway.readLatestMessage()
    return { flags, delivery: await findDelivery(person), isSuppressed: (await findSuppression(person)) !== undefined }
  }

  const qmail = 'Hi. This is the mail program at mx.nodmarc.test.\nI could not deliver your message.\n\n<person>:\n'

  test.each<[what: string, report: PlainReport, error: string, isSuppressed: boolean]>([
    ['of qmail', { words: `${qmail}Sorry, no mailbox here by that name. (#5.1.1)` }, 'bounced: 5.1.1', true],
    ['of qmail without a code', { words: `${qmail}Sorry, no mailbox here by that name.` }, 'bounced: 5.1.1', true],
    ['about the content', { words: `${qmail}554 5.7.1 looks like spam` }, 'bounced: 5.7.1', false],
    ['in words of its own', { words: 'Ihre Nachricht ist nicht angekommen.' }, 'bounced: 5.0.0', false],
    [
      'by another envelope sender',
      { words: `${qmail}550 User unknown`, from: 'mailer-daemon@mx.nodmarc.test' },
      'bounced: 5.1.1',
      true,
    ],
  ])('counts if it is %s', async (_what, report, error, isSuppressed) => {
    const outcome = await postBounce(report)
    expect(outcome).toMatchObject({ delivery: { state: 'dead', last_error: error }, isSuppressed })
    expect(outcome.flags).toContain('bounce_hard')
  })

  test.each<[what: string, report: PlainReport, flag: string, state: string]>([
    ['a full mailbox', { words: `${qmail}Mailbox full. (#4.2.2)` }, 'bounce_soft', 'later'],
    [
      'a warning',
      {
        words: `${qmail}It has not yet been delivered. No action is required.`,
        subject: 'Warning: message delayed 24 hours',
      },
      'delivery_delayed',
      'sent',
    ],
    ['a vacation notice', { words: 'I am away. 5.1.1', author: 'ann@nodmarc.test' }, 'bounce', 'sent'],
  ])('has no effect if it is %s', async (_what, report, flag, state) => {
    const outcome = await postBounce(report)
    expect(outcome).toMatchObject({ delivery: { state }, isSuppressed: false })
    expect(outcome.flags).toContain(flag)
  })
})

test.each([
  ['someone@elsewhere.test: 550 No such user here'],
  ['<someone@elsewhere.test>: 550 no such user'],
  ['Recipient: someone@elsewhere.test\n    Reason:\n    550 5.1.1 no such user'],
  ['alias@elsewhere.test: 550 no such user'],
])('a report of OpenSMTPD that says 5.0.0 without a Diagnostic-Code suppresses by "%s"', async line => {
  messageCount += 1
  const person = `opensmtpd${messageCount}@nodmarc.test`
  const to = await answerPerson(person)
  const words = `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    ${line}\n\n    Below is a copy of the original message:`
  await postAcceptedReport({ to, humanText: words, fields: formatFailure('5.0.0') })
  await waitForDelivery(person, 'dead')
  expect(await findSuppression(person)).toBeDefined()
})
