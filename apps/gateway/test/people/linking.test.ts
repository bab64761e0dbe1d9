import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway, readConfided } from '../setup/people-gateway.ts'

// These tests link people on mail and the fediverse, through real sockets with real signatures.

let people: PeopleTestGateway

beforeAll(async () => {
  people = await openPeopleGateway()
})
afterAll(() => people.close())

describe('a person with an account and a mailbox', () => {
  test('links them with a code that the mailbox receives and the account sends back', async () => {
    const byMail = await people.askByMail('by mail: my cat is called Ada')
    expect(readConfided(byMail.text)).toEqual({ past: [], storedTexts: [], knows: [] })
    const { asked, code, confirmed } = await people.linkMail()
    expect(asked.text).toContain('I have sent a code to alice@alice.test.')
    expect(code).toMatch(/^[2-9A-Z]{5}-[2-9A-Z]{5}$/)
    expect(confirmed.text).toContain('Done: alice@alice.test is linked with this address.')
    expect(confirmed.audience).toEqual(['https://mastodon.test/users/alice'])
  })

  test('learns from the mail who asked, and what to do if it was somebody else', () => {
    const mail = people.gateway.simulation.mail.received.find(
      ({ envelope, text }) => envelope.to.includes('alice@alice.test') && text?.includes('confirm '),
    )
    expect(mail?.headers.get('subject')).toEqual(['Linking alice@alice.test'])
    expect(mail?.text).toContain('@alice@mastodon.test says that this address belongs to the same person')
    expect(mail?.text).toContain('If it was not you, do nothing')
  })

  test('gets a notice of the link in the mailbox', async () => {
    const mail = await eventually(async () =>
      people.gateway.simulation.mail.received.find(
        ({ envelope, text }) => envelope.to.includes('alice@alice.test') && text?.includes('is now linked'),
      ),
    )
    expect(mail.text?.replace(/\s+/g, ' ')).toContain(
      'If that was not you, send it "unlink @alice@mastodon.test" from here',
    )
  })

  test('has one history with messages of both channels, without the commands', async () => {
    const first = await people.askByPost('what do you know?')
    expect(readConfided(first.text)).toEqual({
      past: ['email: by mail: my cat is called Ada'],
      storedTexts: [],
      knows: [expect.stringMatching(/^activitypub @alice/), 'email @alice@alice.test'],
    })
    const second = readConfided((await people.askByMail('and here?')).text)
    expect(second.past.join('\n')).toContain('by mail: my cat is called Ada')
    expect(second.past.join('\n')).toContain('activitypub: what do you know?')
    expect(second.past.join('\n')).not.toMatch(/confirm|link /)
    expect(second.storedTexts).toEqual(['what do you know?'])
  })

  test('keeps all notes of the agent from simultaneous turns of both channels', async () => {
    const notesBefore = readConfided((await people.askByPost('how many?')).text).storedTexts
    const texts = ['2 at once, from the account', '2 at once, from the mailbox'] as const
    await Promise.all([people.askByPost(texts[0]), people.askByMail(texts[1])])
    const { storedTexts } = readConfided((await people.askByPost('and now?')).text)
    expect(storedTexts.slice(0, notesBefore.length + 1)).toEqual([...notesBefore, 'how many?'])
    expect(storedTexts.slice(notesBefore.length + 1).toSorted()).toEqual(texts)
  })

  test('hides private messages from conversations that others read', async () => {
    const open = readConfided((await people.askByPost('in public', { visibility: 'public' })).text)
    expect(open).toEqual({ past: [], storedTexts: [], knows: [] })
  })

  test('hides public messages from private conversations', async () => {
    const { past } = readConfided((await people.askByPost('again alone')).text)
    expect(past.join('\n')).not.toContain('in public')
  })

  test('stays unlinked for another agent, and unshared for an agent that only links', async () => {
    await people.askByMail('to quiet by mail', { to: 'quiet' })
    expect((await people.linkMail('alice@alice.test', { to: 'quiet' })).confirmed.text).toContain('Done')
    for (const to of ['quiet', 'plain']) {
      expect(readConfided((await people.askByPost('hello', { to })).text)).toEqual({
        past: [],
        storedTexts: [],
        knows: [],
      })
    }
  })

  test('can list links with "linked" and remove them with "unlink"', async () => {
    expect((await people.askByMail('linked')).text).toContain('Linked with this address: @alice@mastodon.test.')
    expect((await people.askByMail('unlink @alice@mastodon.test')).text).toContain(
      'Done: @alice@mastodon.test is not linked',
    )
    expect((await people.askByPost('linked')).text).toContain('No other address is linked with this one.')
    expect(readConfided((await people.askByPost('after all')).text)).toMatchObject({
      past: [],
      storedTexts: [],
      knows: [],
    })
    expect((await people.askByMail('unlink @alice@mastodon.test')).text).toContain(
      'That address is not linked with this one.',
    )
  })
})

describe('a link from the mailbox to the account', () => {
  test('sends the code as a direct message to that account only', async () => {
    const linkMessage = await people.askByMail('link @bob@mastodon.test', { from: 'bob@alice.test' })
    expect(linkMessage.text).toContain('I have sent a code to @bob@mastodon.test.')
    const code = await people.postedCode('https://mastodon.test/users/bob')
    const confirmed = await people.askByMail(`${code}`, { from: 'bob@alice.test' })
    expect(confirmed.text).toContain('Done: @bob@mastodon.test is linked with this address.')
    expect((await people.askByPost('linked', { from: 'bob@mastodon.test' })).text).toContain('bob@alice.test')
  })

  test('does not reveal which other people an answer names', async () => {
    await people.askByPost('linked', { from: 'bob@mastodon.test' })
    const toAlice = people.gateway.simulation.fediverse.received.filter(
      ({ activity }) =>
        JSON.stringify(activity).includes('bob@alice.test') && JSON.stringify(activity.to).includes('alice'),
    )
    expect(toAlice).toEqual([])
  })
})

test('accepts a code in an answer with a signature and a quotation', async () => {
  const from = { from: 'quoter@alice.test' }
  const linkMessage = await people.askByMail('link acct:bob@gotosocial.test', from)
  const code = await people.postedCode('https://gotosocial.test/users/bob')
  const quoted = linkMessage.text.replace(/^/gm, '> ')
  const text = `Confirm ${code}\n\n-- \nQuoter\n+1 555 0100\n\nOn Mon, 2 Nov 2026 at 10:00, Store <desk@agents.test> wrote:\n\n${quoted}\n`
  const confirmed = await people.askByMail(text, { ...from, inReplyTo: linkMessage.thread })
  expect(confirmed.text).toContain('Done: @bob@gotosocial.test is linked')
})

describe('text that is not a command', () => {
  test.each(['please link alice@alice.test', 'linked?? to what', 'unlink', 'I forget me'])(
    '"%s" goes to the agent',
    async text => {
      expect(readConfided((await people.askByPost(text)).text)).toBeDefined()
    },
  )

  test('goes to the agent if it looks like a code while the gateway expects none', async () => {
    expect(readConfided((await people.askByPost('SHARP-KNEES', { from: 'alice@snac.test' })).text)).toBeDefined()
  })

  test('goes to the agent, like commands, if the agent links nobody', async () => {
    expect(readConfided((await people.askByPost('linked', { to: 'plain' })).text)).toBeDefined()
  })
})
