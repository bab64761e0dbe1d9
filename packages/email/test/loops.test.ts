import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailHouse } from './house.ts'
import { domain, noBudgets, openMailHouse } from './house.ts'

const alice = 'Alice <alice@alice.test>'
const bob = 'bob@nodmarc.test'
let count = 0

/** Opens a house with some of the budgets, closes it afterwards. */
async function withBudgets(
  budgets: Partial<Record<keyof typeof noBudgets, number>>,
  run: (house: MailHouse) => Promise<void>,
  works = false,
): Promise<void> {
  const house = await openMailHouse({ works, config: { budgets: { ...noBudgets, ...budgets } } })
  await run(house).finally(() => house.close())
}

/** Unsigned mail; its state and flags. */
async function letter(house: MailHouse, fields: { from?: string; to?: string; text?: string; thread?: string } = {}) {
  count += 1
  const { from = bob, to = `echo@${domain}`, text = `Words ${count}`, thread } = fields
  const reference = thread ? `References: <${thread}>\n` : ''
  const message = `From: ${from}\nTo: ${to}\n${reference}Message-ID: <l${count}@nodmarc.test>\n\n${text}\n`
  await house.post(message, { from: bob, to })
  const record = await house.latest()
  return [record.state, ...record.flags].join(' ')
}

async function statesOf(times: number, each: (at: number) => Promise<string>): Promise<readonly string[]> {
  const states: string[] = []
  for (let at = 0; at < times; at += 1) states.push(await each(at))
  return states
}

describe('budgets', () => {
  test('to one correspondent so many answers in an hour, in whatever thread; others are not concerned', () =>
    withBudgets({ correspondent_per_hour: 3 }, async house => {
      const states = await statesOf(4, () => letter(house))
      expect(states).toEqual([...Array(3).fill('received'), 'ignored correspondent_budget'])
      expect(await letter(house, { from: 'carol@nodmarc.test' })).toBe('received')
      expect(await letter(house, { to: `helper@${domain}` })).toBe('received')
      house.world.advance(3_600_001)
      expect(await letter(house)).toBe('received')
    }))

  test('whoever only claims to be alice does not use up what alice may have', () =>
    withBudgets({ correspondent_per_hour: 1 }, async house => {
      await house.post(`From: ${bob}\nTo: echo@${domain}\nMessage-ID: <forged@nodmarc.test>\n\nHello\n`)
      const { mail } = await house.postMail({ from: bob })
      expect(await house.desk.findMessage(mail.messageId)).toMatchObject({ state: 'received' })
    }))

  test('in one thread so many in an hour and in a day', () =>
    withBudgets({ thread_per_hour: 2, thread_per_day: 3 }, async house => {
      const inThread = () => letter(house, { thread: 'root@nodmarc.test' })
      expect(await statesOf(3, inThread)).toEqual(['received', 'received', 'ignored thread_budget'])
      house.world.advance(3_600_001)
      expect(await statesOf(2, inThread)).toEqual(['received', 'ignored thread_budget'])
      expect(await letter(house, { thread: 'other@nodmarc.test' })).toBe('received')
    }))

  test('the same words again and again in one thread are no conversation', () =>
    withBudgets({ repeats_per_hour: 2 }, async house => {
      const same = () => letter(house, { thread: 'same@nodmarc.test', text: 'We have received your request.' })
      expect(await statesOf(3, same)).toEqual(['received', 'received', 'ignored repeated'])
      expect(await letter(house, { thread: 'same@nodmarc.test', text: 'Something else' })).toBe('received')
    }))

  test('an answer to everybody reaches many: not often, by one domain', async () => {
    const config = { reply_all: true, budgets: { ...noBudgets, reply_all_per_hour: 1 } }
    const house = await openMailHouse({ config })
    const write = async (cc?: string) => {
      count += 1
      const { mail } = await house.postMail({ from: alice, text: `To you ${count}`, ...(cc && { cc: [cc] }) })
      const record = await house.desk.findMessage(mail.messageId)
      return [record?.state, ...(record?.flags ?? [])].join(' ')
    }
    const states = [await write(bob), await write('carol@nodmarc.test'), await write()]
    expect(states).toEqual(['received', 'ignored reply_all_budget', 'received'])
    await house.close()
  })

  test('who is not proven may never have written: few answers to him, and not many to all of them', () =>
    withBudgets({ unverified_per_day: 2, unverified_per_hour: 3 }, async house => {
      const states = await statesOf(3, () => letter(house))
      expect(states).toEqual(['received', 'received', 'ignored backscatter_budget'])
      expect(await letter(house, { from: 'victim1@nodmarc.test' })).toBe('received')
      expect(await letter(house, { from: 'victim2@nodmarc.test' })).toBe('ignored backscatter_budget')
      const { mail } = await house.postMail({ from: alice })
      expect(await house.desk.findMessage(mail.messageId)).toMatchObject({ state: 'received' })
    }))
})

describe('EM-64: a correspondent that is a machine', () => {
  /** Answers every answer at once, in the thread, with new words. */
  async function pingPong(house: MailHouse, most: number): Promise<number> {
    let [inReplyTo, references]: [string | undefined, string[]] = [undefined, []]
    for (let at = 0; at < most; at += 1) {
      const { mail } = await house.postMail({ from: alice, text: `Thank you, message ${at}.`, inReplyTo, references })
      const record = await house.desk.findMessage(mail.messageId)
      if (record?.state === 'ignored') return at
      const reply = await house.sim.mail.awaitReply(mail.messageId, 30_000)
      inReplyTo = reply.messageId
      references = [...references, mail.messageId, reply.messageId ?? '']
    }
    return most
  }

  test('one that does not say so is stopped within ten turns: nobody reads and types that fast', () =>
    withBudgets(
      { swift_per_hour: 5 },
      async house => {
        expect(await pingPong(house, 12)).toBe(6)
      },
      true,
    ))

  test('also by the budget of the thread, however slow it is', () =>
    withBudgets(
      { thread_per_hour: 10 },
      async house => {
        expect(await pingPong(house, 12)).toBe(10)
      },
      true,
    ))
})

describe('our own mail', () => {
  let house: MailHouse
  beforeAll(async () => {
    house = await openMailHouse({ works: true })
  })
  afterAll(() => house.close())

  test('EM-64: what a gateway sends says so, and another gateway does not answer it', async () => {
    const { mail } = await house.postMail({ from: alice })
    const reply = await house.sim.mail.awaitReply(mail.messageId, 30_000)
    const marks = Object.fromEntries(
      ['auto-submitted', 'x-auto-response-suppress'].map(name => [name, reply.headers.get(name)?.[0] ?? '']),
    )
    const { mail: answer } = await house.postMail({
      from: alice,
      headers: { ...marks, 'X-Postern-Hop': 'agent; hop=1' },
    })
    const record = await house.desk.findMessage(answer.messageId)
    expect(record).toMatchObject({ state: 'ignored' })
    expect(record?.flags).toContain('auto_reply')
  })

  test('EM-63: an answer that comes back by a list under another name is known by its hop field', async () => {
    const { mail } = await house.postMail({ from: alice })
    const reply = await house.sim.mail.awaitReply(mail.messageId, 30_000)
    const hop = reply.headers.get('x-postern-hop')?.[0] ?? ''
    expect(hop).toMatch(/^echo; hop=1; max=5; id=[0-9a-f]{32}; mac=[0-9a-f]{32}$/)
    const back = await house.postMail({ from: alice, headers: { 'X-Postern-Hop': hop } })
    expect((await house.desk.findMessage(back.mail.messageId))?.flags).toEqual(['own_mail'])
    const forged = await house.postMail({ from: alice, headers: { 'X-Postern-Hop': hop.replace('echo', 'help') } })
    expect((await house.desk.findMessage(forged.mail.messageId))?.flags).toEqual([])
  })
})

test.each([
  ['an answer to an invitation', 'REPLY', 'ignored', ['calendar_reply']],
  ['another proposal', 'COUNTER', 'ignored', ['calendar_reply']],
  ['an invitation', 'REQUEST', 'received', []],
])('EM-62: %s, inside of a multipart as Exchange sends it', (_what, method, state, flags) =>
  withBudgets({}, async house => {
    const event = `BEGIN:VCALENDAR\nMETHOD:${method}\nBEGIN:VEVENT\nUID:1@corp.test\nSUMMARY:Lunch\nEND:VEVENT\nEND:VCALENDAR\n`
    const parts = `--b\nContent-Type: text/plain\n\nLunch\n--b\nContent-Type: text/calendar; charset=utf-8; method=${method}\n\n${event}--b--\n`
    await house.post(`From: ${bob}\nTo: echo@${domain}\nContent-Type: multipart/alternative; boundary=b\n\n${parts}`)
    expect(await house.latest()).toMatchObject({ state, flags })
  }),
)
