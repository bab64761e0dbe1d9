import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, noBudgets, openMailGateway } from '../setup/gateway.ts'

const alice = 'Alice <alice@alice.test>'
const bob = 'bob@nodmarc.test'
let count = 0

/** Opens a gateway with some of the budgets, and closes it afterwards. */
async function withBudgets(
  budgets: Partial<Record<keyof typeof noBudgets, number>>,
  run: (gateway: MailGateway) => Promise<void>,
  runsAgents = false,
): Promise<void> {
  const gateway = await openMailGateway({ runsAgents, config: { budgets: { ...noBudgets, ...budgets } } })
  await run(gateway).finally(() => gateway.close())
}

/** Posts an unsigned mail, and returns its state and flags. */
async function postUnsignedMail(
  gateway: MailGateway,
  fields: { from?: string; to?: string; text?: string; thread?: string; subject?: string } = {},
) {
  count += 1
  const { from = bob, to = `echo@${mailDomain}`, text = `Words ${count}`, thread, subject } = fields
  const reference = thread ? `References: <${thread}>\n` : ''
  const subjectField = subject ? `Subject: ${subject}\n` : ''
  const message = `From: ${from}\nTo: ${to}\n${subjectField}${reference}Message-ID: <l${count}@nodmarc.test>\n\n${text}\n`
  await gateway.post(message, { from: bob, to })
  const record = await gateway.readLatestMessage()
  return [record.state, ...record.flags].join(' ')
}

async function repeatAndListStates(times: number, post: (at: number) => Promise<string>): Promise<readonly string[]> {
  const states: string[] = []
  for (let at = 0; at < times; at += 1) states.push(await post(at))
  return states
}

describe('budgets', () => {
  test('limit a correspondent’s answers per hour across threads, without affecting others', () =>
    withBudgets({ correspondent_per_hour: 3 }, async gateway => {
      const states = await repeatAndListStates(4, () => postUnsignedMail(gateway))
      expect(states).toEqual([...Array(3).fill('received'), 'ignored correspondent_budget'])
      expect(await postUnsignedMail(gateway, { from: 'carol@nodmarc.test' })).toBe('received')
      expect(await postUnsignedMail(gateway, { to: `helper@${mailDomain}` })).toBe('received')
      gateway.system.advance(3_600_001)
      expect(await postUnsignedMail(gateway)).toBe('received')
    }))

  test('of a proven sender stay unused by a sender who only claims the name', () =>
    withBudgets({ correspondent_per_hour: 1 }, async gateway => {
      await gateway.post(`From: ${bob}\nTo: echo@${mailDomain}\nMessage-ID: <forged@nodmarc.test>\n\nHello\n`)
      const { mail } = await gateway.postMail({ from: bob })
      expect(await gateway.store.findMessage(mail.messageId)).toMatchObject({ state: 'received' })
    }))

  test('limit a thread’s answers per hour and per day', () =>
    withBudgets({ thread_per_hour: 2, thread_per_day: 3 }, async gateway => {
      const postInThread = () => postUnsignedMail(gateway, { thread: 'root@nodmarc.test' })
      expect(await repeatAndListStates(3, postInThread)).toEqual(['received', 'received', 'ignored thread_budget'])
      gateway.system.advance(3_600_001)
      expect(await repeatAndListStates(2, postInThread)).toEqual(['received', 'ignored thread_budget'])
      expect(await postUnsignedMail(gateway, { thread: 'other@nodmarc.test' })).toBe('received')
    }))

  test('end a conversation that repeats the same text', () =>
    withBudgets({ repeats_per_hour: 2 }, async gateway => {
      const postSameText = () =>
        postUnsignedMail(gateway, { thread: 'same@nodmarc.test', text: 'We have received your request.' })
      expect(await repeatAndListStates(3, postSameText)).toEqual(['received', 'received', 'ignored repeated'])
      expect(await postUnsignedMail(gateway, { thread: 'same@nodmarc.test', text: 'Something else' })).toBe('received')
    }))

  test('give few answers a day to a responder that begins a thread each time, with any number', () =>
    withBudgets({ restarts_per_day: 3 }, async gateway => {
      const postTicket = () =>
        postUnsignedMail(gateway, { text: `We have your mail. Ticket #AB-${4711 + count}, please wait.` })
      expect(await repeatAndListStates(4, postTicket)).toEqual([...Array(3).fill('received'), 'ignored restart_budget'])
      gateway.system.advance(23 * 3_600_000)
      expect(await postTicket()).toBe('ignored restart_budget')
      expect(await postUnsignedMail(gateway, { text: 'Another question' })).toBe('received')
      expect(await postUnsignedMail(gateway, { from: 'carol@nodmarc.test', text: 'We have your mail.' })).toBe(
        'received',
      )
      gateway.system.advance(2 * 3_600_000)
      expect(await postTicket()).toBe('received')
    }))

  test('give few answers to mails with Re: that name no mail, but enough to people in a thread', () =>
    withBudgets({ restarts_per_day: 3 }, async gateway => {
      const postRandomText = () =>
        postUnsignedMail(gateway, { subject: 'Re: Your answer', text: `Word ${'x'.repeat(count)}` })
      expect(await repeatAndListStates(4, postRandomText)).toEqual([
        ...Array(3).fill('received'),
        'ignored restart_budget',
      ])
      const postThanks = () =>
        postUnsignedMail(gateway, { subject: 'Re: Hello', text: 'Thanks!', thread: 'talk@nodmarc.test' })
      expect(await repeatAndListStates(5, postThanks)).toEqual(Array(5).fill('received'))
      const postNews = () => postUnsignedMail(gateway, { subject: 'Hello', text: `News: ${'y'.repeat(count)}` })
      expect(await repeatAndListStates(5, postNews)).toEqual(Array(5).fill('received'))
    }))

  test('give few answers to the recipients of one domain together, since each mail reaches many', async () => {
    const config = { reply_all: true, budgets: { ...noBudgets, reply_all_per_hour: 1 } }
    const gateway = await openMailGateway({ config })
    const postToAll = async (cc?: string) => {
      count += 1
      const { mail } = await gateway.postMail({ from: alice, text: `To you ${count}`, ...(cc && { cc: [cc] }) })
      const record = await gateway.store.findMessage(mail.messageId)
      return [record?.state, ...(record?.flags ?? [])].join(' ')
    }
    const states = [await postToAll(bob), await postToAll('carol@nodmarc.test'), await postToAll()]
    expect(states).toEqual(['received', 'ignored reply_all_budget', 'received'])
    await gateway.close()
  })

  test('give few answers to each unproven author, and limited ones to all together', () =>
    withBudgets({ unverified_per_day: 2, unverified_per_hour: 3 }, async gateway => {
      const states = await repeatAndListStates(3, () => postUnsignedMail(gateway))
      expect(states).toEqual(['received', 'received', 'ignored backscatter_budget'])
      expect(await postUnsignedMail(gateway, { from: 'victim1@nodmarc.test' })).toBe('received')
      expect(await postUnsignedMail(gateway, { from: 'victim2@nodmarc.test' })).toBe('ignored backscatter_budget')
      const { mail } = await gateway.postMail({ from: alice })
      expect(await gateway.store.findMessage(mail.messageId)).toMatchObject({ state: 'received' })
    }))
})

describe('a correspondent that is a machine (EM-64)', () => {
  /** Answers every answer at once, in the same thread, with a new text. */
  async function answerRepeatedly(gateway: MailGateway, maxTurns: number): Promise<number> {
    let [inReplyTo, references]: [string | undefined, string[]] = [undefined, []]
    for (let at = 0; at < maxTurns; at += 1) {
      const { mail } = await gateway.postMail({ from: alice, text: `Thank you, message ${at}.`, inReplyTo, references })
      const record = await gateway.store.findMessage(mail.messageId)
      if (record?.state === 'ignored') return at
      const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
      inReplyTo = reply.messageId
      references = [...references, mail.messageId, reply.messageId ?? '']
    }
    return maxTurns
  }

  test('stops within ten turns, since no person reads and types that fast', () =>
    withBudgets(
      { rapid_per_hour: 5 },
      async gateway => {
        expect(await answerRepeatedly(gateway, 12)).toBe(6)
      },
      true,
    ))

  test('stops by the budget of the thread at any speed', () =>
    withBudgets(
      { thread_per_hour: 10 },
      async gateway => {
        expect(await answerRepeatedly(gateway, 12)).toBe(10)
      },
      true,
    ))
})

describe('our own mail', () => {
  let gateway: MailGateway
  beforeAll(async () => {
    gateway = await openMailGateway({ runsAgents: true })
  })
  afterAll(() => gateway.close())

  test('has a declaration, so that another gateway does not answer it (EM-64, EM-4.1)', async () => {
    const { mail } = await gateway.postMail({ from: alice })
    const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
    const automaticFields = Object.fromEntries(
      ['auto-submitted', 'x-auto-response-suppress'].map(name => [name, reply.headers.get(name)?.[0] ?? '']),
    )
    const { mail: answer } = await gateway.postMail({
      from: alice,
      headers: { ...automaticFields, 'X-Postern-Hop': 'agent; hop=1' },
    })
    const record = await gateway.store.findMessage(answer.messageId)
    expect(record).toMatchObject({ state: 'ignored' })
    expect(record?.flags).toContain('auto_reply')
  })

  test('has a hop field that reveals an answer returning under another name by a list (EM-63)', async () => {
    const { mail } = await gateway.postMail({ from: alice })
    const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
    const hop = reply.headers.get('x-postern-hop')?.[0] ?? ''
    expect(hop).toMatch(/^echo; hop=1; max=5; id=[0-9a-f]{32}; mac=[0-9a-f]{32}$/)
    const returnedMail = await gateway.postMail({ from: alice, headers: { 'X-Postern-Hop': hop } })
    expect((await gateway.store.findMessage(returnedMail.mail.messageId))?.flags).toEqual(['own_mail'])
    const forgedMail = await gateway.postMail({
      from: alice,
      headers: { 'X-Postern-Hop': hop.replace('echo', 'help') },
    })
    expect((await gateway.store.findMessage(forgedMail.mail.messageId))?.flags).toEqual([])
  })
})

test.each([
  ['an answer to an invitation', 'REPLY', 'ignored', ['calendar_reply']],
  ['another proposal', 'COUNTER', 'ignored', ['calendar_reply']],
  ['an invitation', 'REQUEST', 'received', []],
])('the gateway recognizes %s inside a multipart, as Exchange sends it (EM-62)', (_what, method, state, flags) =>
  withBudgets({}, async gateway => {
    const event = `BEGIN:VCALENDAR\nMETHOD:${method}\nBEGIN:VEVENT\nUID:1@corp.test\nSUMMARY:Lunch\nEND:VEVENT\nEND:VCALENDAR\n`
    const parts = `--b\nContent-Type: text/plain\n\nLunch\n--b\nContent-Type: text/calendar; charset=utf-8; method=${method}\n\n${event}--b--\n`
    await gateway.post(
      `From: ${bob}\nTo: echo@${mailDomain}\nContent-Type: multipart/alternative; boundary=b\n\n${parts}`,
    )
    expect(await gateway.readLatestMessage()).toMatchObject({ state, flags })
  }),
)
