import { Unavailable } from '@postern/message'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway, readConfided } from '../setup/people-gateway.ts'
import { listTraces as listAllTraces } from '../setup/traces.ts'

// These tests try attacks of strangers on linked addresses, and check that forgotten texts are deleted.

let people: PeopleTestGateway
let copies = 0

beforeAll(async () => {
  people = await openPeopleGateway({
    email: { listen: { port: 0, protocol: 'smtp' }, answer_lists: true, reply_all: true },
  })
})
afterAll(() => people.close())

const postForm = async (path: string, body: unknown) => {
  const response = await fetch(`${people.gateway.url()}/operator/api${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('an unproven sender', () => {
  test.each([
    ['unsigned mail', 'alice@nodmarc.test', { sign: false }],
    ['a domain that attests no address', 'alice@nodmarc.test', {}],
  ])('%s: the command goes to the agent, and no code leaves', async (_, from, overrides) => {
    const answer = await people.askByMail('link victim@alice.test', { from, ...overrides })
    expect(readConfided(answer.text)).toBeDefined()
    expect(people.codesTo('victim@alice.test')).toBe(0)
  })

  test('a mailing list cannot give commands for its authors', async () => {
    const answer = await people.askByMail('link lister@alice.test', { headers: { 'List-Id': '<friends.lists.test>' } })
    expect(readConfided(answer.text)).toBeDefined()
    expect(people.codesTo('lister@alice.test')).toBe(0)
  })

  test.each([
    // On a mail directly from the author's own server, To counts as the author's; this mail comes from another server.
    [
      'whose signature leaves open to whom it is',
      { signedFields: ['from', 'subject', 'date', 'message-id'], envelopeFrom: 'mallory@evil.test' },
    ],
    ['whose signature leaves open when it was written', { signedFields: ['from', 'to', 'subject', 'message-id'] }],
    ['of last week', { date: new Date(Date.now() - 6 * 86_400_000) }],
  ])('a mail %s may be a copy, so it deletes nothing and goes to the agent', async (_, overrides) => {
    const from = `copied${copies++}@alice.test`
    await people.askByMail('my secret is green', { from })
    expect(readConfided((await people.askByMail('Forget me.', { from, ...overrides })).text)).toBeDefined()
    expect((await people.askByMail('Forget me.', { from })).text).toMatch(/deleted|forgotten/i)
  })

  test('an unsigned subject of an empty mail is no command', async () => {
    const overrides = {
      from: 'empty@alice.test',
      subject: 'Forget me.',
      signedFields: ['from', 'to', 'date', 'message-id'],
    }
    expect(readConfided((await people.askByMail('', overrides)).text)).toBeDefined()
  })

  test('mail to several people cannot give commands', async () => {
    const receipt = await people.gateway.simulation.mail.deliver({
      from: 'alice@alice.test',
      to: ['desk@agents.test', 'carol@alice.test'],
      subject: 'hello',
      text: 'linked',
    })
    const reply = await people.gateway.simulation.mail.awaitReply(receipt.mail.messageId, 30_000)
    expect(readConfided(reply.text ?? '')).toBeDefined()
  })
})

describe('an address of somebody else', () => {
  test('cannot be linked without the code, even if its owner replies', async () => {
    await people.askByMail('my secret is blue', { from: 'victim@alice.test' })
    const eve = { from: 'bob@gotosocial.test' }
    expect((await people.askByPost('link victim@alice.test', eve)).text).toContain('I have sent a code')
    const code = await people.mailedCode('victim@alice.test')
    // The victim, or the victim's program, sends the code back to its sender.
    expect((await people.askByMail(`confirm ${code}`, { from: 'victim@alice.test' })).text).toContain(
      'There is no code to wait for',
    )
    const guess = `${code}`.replace(/^./, letter => (letter === 'A' ? 'B' : 'A'))
    expect((await people.askByPost(`confirm ${guess}`, eve)).text).toContain(
      'That is not the code, or its time is over. 4 more tries.',
    )
    expect(readConfided((await people.askByPost('what do you know?', eve)).text)).toMatchObject({ past: [], knows: [] })
  })

  test('stays unlinked if somebody else saw the code, or uses it at another agent', async () => {
    await people.askByPost('link seen@alice.test')
    const code = await people.mailedCode('seen@alice.test')
    expect((await people.askByPost(`confirm ${code}`, { from: 'bob@snac.test' })).text).toContain(
      'There is no code to wait for',
    )
    expect((await people.askByPost(`confirm ${code}`, { to: 'quiet' })).text).toContain('There is no code to wait for')
    expect((await people.askByPost(`confirm ${code}`)).text).toContain('Done: seen@alice.test')
    expect((await people.askByPost(`confirm ${code}`)).text).toContain('There is no code to wait for')
  })

  test('receives at most three codes a day', async () => {
    const names = ['alice@snac.test', 'bob@snac.test', 'alice@barekey.test', 'bob@barekey.test']
    const answers = []
    for (const from of names) answers.push((await people.askByPost('link flood@alice.test', { from })).text)
    expect(answers.at(-1)).toContain('Many codes have gone to that address.')
    await people.mailedCode('flood@alice.test', 3)
    expect(people.codesTo('flood@alice.test')).toBe(3)
  })

  test.each([
    ['link @help@agents.test', 'That is the address of an agent'],
    ['link @agents', 'This is no address I can link'],
    ['link desk@agents.test', 'That is the address of an agent'],
    ['link desk+tag@agents.test', 'That is the address of an agent'],
    ['link @alice@mastodon.test', 'You are writing from that address already'],
    ['link @nobody@mastodon.test', 'I find nobody at that address'],
    ['link @alice@printer.local', 'I find nobody at that address'],
    ['link me@localhost', 'This is no address I can link'],
    ['link @mallory@redirector.test', 'I find nobody at that address'],
  ])('gets a refusal for "%s"', async (text, answer) => {
    expect(
      (await people.askByPost(text, { from: text.includes('@alice@') ? 'alice@mastodon.test' : 'alice@rfc9421.test' }))
        .text,
    ).toContain(answer)
  })

  test('gets a direct post that names who asks, without a copy for them', async () => {
    const [asker, target] = ['bob@mastodon.test', 'https://gotosocial.test/users/alice']
    await people.askByPost('link @alice@gotosocial.test', { from: asker })
    const code = await people.postedCode(target)
    const notices = people.gateway.simulation.fediverse.received.filter(({ activity }) =>
      JSON.stringify(activity).includes(`${code}`),
    )
    expect(notices).toHaveLength(1)
    expect(notices[0]?.activity.object).toMatchObject({ to: [target] })
  })
})

test('in public the gateway only says where to ask, and only to the person', async () => {
  for (const visibility of ['public', 'followers'] as const) {
    const { text, audience } = await people.askByPost('linked', { visibility })
    expect(audience).toEqual(['https://mastodon.test/users/alice'])
    if (visibility === 'public') expect(text).toContain('Ask me this in a direct message')
  }
})

describe('forgetting', () => {
  const listTraces = (word: string) => listAllTraces(people.gateway.dataDir, word)

  test('with "forget me" deletes the person’s text from all addresses, except the last exchange', async () => {
    const me = { from: 'forgetme@alice.test' }
    await people.askByMail('a mail with the word kumquat', me)
    await people.askByPost('link forgetme@alice.test', { from: 'bob@rfc9421.test' })
    const code = await people.mailedCode('forgetme@alice.test')
    await people.askByPost(`confirm ${code}`, { from: 'bob@rfc9421.test' })
    await people.askByPost('a post with the word kumquat', { from: 'bob@rfc9421.test' })
    await people.askByPost('another agent hears of rhubarb', { from: 'bob@rfc9421.test', to: 'quiet' })
    expect(listTraces('kumquat')).not.toEqual([])
    const { text } = await people.askByPost('forget me', { from: 'bob@rfc9421.test' })
    expect(text).toMatch(/is deleted \(\d+ messages\), and so is every link/)
    expect(listTraces('kumquat')).toEqual([])
    // The table `turn_budgets` records how often an address was answered lately, against floods; its rows expire by themselves.
    expect(listTraces('forgetme@alice.test').filter(table => table !== 'turn_budgets')).toEqual([])
    expect(listTraces('rhubarb')).not.toEqual([])
    expect(readConfided((await people.askByMail('who am I?', me)).text)).toEqual({
      past: [],
      storedTexts: [],
      knows: [],
    })
  })

  test('by the operator deletes a person everywhere', async () => {
    const bob = { from: 'bob@barekey.test' }
    await people.askByPost('hello with a word: tamarind', bob)
    await people.askByPost('hello with a word: tamarind', { ...bob, to: 'quiet', visibility: 'public' })
    const { status, body } = await postForm('/people/forget', { address: '@bob@barekey.test' })
    expect({ status, body }).toMatchObject({ status: 200, body: { agent: null, links: 0 } })
    expect(listTraces('tamarind')).toEqual([])
    expect(listTraces('bob@barekey.test').filter(table => table !== 'turn_budgets')).toEqual([])
    expect((await postForm('/people/forget', { address: 'nobody' })).status).toBe(400)
    const metrics = await (await fetch(`${people.gateway.url()}/metrics`)).text()
    expect(metrics).not.toMatch(/ -\d/)
  })

  test('by the operator names the channel of an address that nobody can link', async () => {
    const { a2a } = people.gateway.simulation
    const url = 'https://agents.test/agents/desk/a2a'
    await a2a.deliver({ url, text: 'a call with the word quince', sub: 'quentin' })
    const { items } = await people.gateway.requestOperator<{ items: { sender: string; via: string }[] }>(
      '/messages?channel=a2a',
    )
    const address = items[0]?.sender ?? ''
    expect((await postForm('/people/forget', { address, via: 'email' })).body).toMatchObject({ messages: 0 })
    expect((await postForm('/people/forget', { address, via: 'a2a' })).body).toMatchObject({ messages: 1 })
    expect(listTraces('quince')).toEqual([])
    expect((await postForm('/people/forget', { address, via: 'pigeons' })).status).toBe(400)
  })

  test('leaves a repeated call of a forgotten person without an answer', async () => {
    const { a2a } = people.gateway.simulation
    const signedCall = {
      url: 'https://agents.test/agents/desk/a2a',
      text: 'medlar',
      sub: 'medlar',
      messageId: 'medlar 1',
    }
    expect((await a2a.deliver(signedCall)).result).toBeDefined()
    const { items } = await people.gateway.requestOperator<{ items: { sender: string }[] }>('/messages?channel=a2a')
    expect((await postForm('/people/forget', { address: items[0]?.sender, via: 'a2a' })).body).toMatchObject({
      messages: 1,
    })
    const secondReceipt = await a2a.deliver(signedCall)
    expect(secondReceipt.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('send what is new under a new id'),
    })
    expect(listTraces('medlar')).toEqual([])
  })

  test('the operator can list links', async () => {
    const { items: links } = await people.gateway.requestOperator<{ items: object[] }>('/people?agent=desk')
    expect(links).toContainEqual(
      expect.objectContaining({ agent: 'desk', target: { via: 'email', address: '@seen@alice.test' } }),
    )
  })
})

test('a code from before a restart is valid once after it', async () => {
  await people.askByPost('link later@alice.test', { from: 'alice@gotosocial.test' })
  const code = await people.mailedCode('later@alice.test')
  await people.gateway.restart()
  expect((await people.askByPost(`confirm ${code}`, { from: 'alice@gotosocial.test' })).text).toContain(
    'Done: later@alice.test',
  )
  await eventually(async () => (await people.gateway.deliveries()).every(({ state }) => state !== 'queued'))
})

test.each(['link again@alice.test', 'confirm'])(
  '"%s" takes effect once when its turn runs again because its result was lost',
  async text => {
    const { store } = people.gateway.gateway()
    const commit = store.commit.bind(store)
    let failures = 0
    const from = { from: 'alice@rfc9421.test' }
    const spokenText = text === 'confirm' ? `confirm ${await people.mailedCode('again@alice.test')}` : text
    store.commit = async (turn, answer) => {
      if (answer.isGatewayReply && failures < 2) {
        failures += 1
        throw new Unavailable('Cannot store: the disk is full')
      }
      return commit(turn, answer)
    }
    try {
      const answer = await people.askByPost(spokenText, from)
      expect(answer.text).toContain(text === 'confirm' ? 'Done: again@alice.test' : 'I have sent a code')
    } finally {
      store.commit = commit
    }
    expect(failures).toBe(2)
    await eventually(async () =>
      (await people.gateway.deliveries()).every(({ state }) => state === 'sent' || state === 'dead'),
    )
    const mails = people.gateway.simulation.mail.received.filter(({ envelope }) =>
      envelope.to.includes('again@alice.test'),
    )
    expect(mails).toHaveLength(text === 'confirm' ? 2 : 1)
  },
)
