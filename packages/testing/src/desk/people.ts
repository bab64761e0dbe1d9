import type { LinkRequest, PersonIdentity } from '@postern/core'
import { linkLimits } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { describeOwnThreads } from './own-threads.ts'
import { describeForgetting } from './people-forgetting.ts'
import { describeSharing } from './people-sharing.ts'
import { account, ada, adasMail, addressesOf, confirm, eve, link, mailbox, sketchRequest } from './people-sketches.ts'
import type { DeskUnderTest, OpenDesk } from './under-test.ts'
import { withDesk } from './under-test.ts'
export function peopleContract(open: OpenDesk): void {
  describe('people', () => {
    describeCodes(open)
    describeCeiling(open)
    describeLinks(open)
    describeSharing(open)
    describeForgetting(open)
    describeOwnThreads(open)
  })
}

function describeCodes(open: OpenDesk): void {
  const attempt = (name: string, run: (under: DeskUnderTest, request: LinkRequest) => Promise<void>) =>
    test(
      name,
      withDesk(open, async under => {
        const request = sketchRequest(ada, adasMail)
        expect(await under.desk.requestLink(request)).toEqual({ outcome: 'sent', notice: request.notice })
        await run(under, request)
      }),
    )

  attempt('a code links once; the same message may bring it again', async ({ desk }, request) => {
    expect(await confirm(desk, request, { message: 7, notice: 'told 1' })).toEqual({
      outcome: 'linked',
      target: { via: 'email', address: '@ada@mail.test' },
      notice: 'told 1',
    })
    expect(await confirm(desk, request, { message: 7 })).toMatchObject({ outcome: 'linked', notice: 'told 1' })
    expect(await confirm(desk, request, { message: 8 })).toEqual({ outcome: 'none' })
    expect(await desk.listLinks({ limit: 10 })).toMatchObject([{ agent: 'echo', asked: request.message, confirmed: 7 }])
  })
  attempt('asked again for the same message, the first notice stands', async ({ desk }, request) => {
    expect(await desk.requestLink({ ...request, notice: 'another' })).toEqual({
      outcome: 'sent',
      notice: request.notice,
    })
  })
  attempt('it counts for the address alone that asked, and for its agent', async ({ desk }, request) => {
    expect(await confirm(desk, { ...request, asker: eve })).toEqual({ outcome: 'none' })
    expect(await confirm(desk, { ...request, asker: adasMail })).toEqual({ outcome: 'none' })
    expect(await confirm(desk, { ...request, agent: 'help' })).toEqual({ outcome: 'none' })
    expect(await confirm(desk, request)).toMatchObject({ outcome: 'linked' })
  })
  attempt('a code of another request is a wrong one', async ({ desk }, request) => {
    const other = sketchRequest(eve, mailbox('eve'))
    await desk.requestLink(other)
    expect(await confirm(desk, { ...request, digest: other.digest })).toEqual({ outcome: 'wrong', triesLeft: 4 })
    expect(await addressesOf(desk, ada)).toEqual([])
  })
  attempt('after five wrong ones the right one is dead, too', async ({ desk }, request) => {
    const guesses = await Promise.all([1, 2, 3, 4, 5].map(n => confirm(desk, { ...request, digest: `guess ${n}` })))
    expect(guesses.map(guess => 'triesLeft' in guess && guess.triesLeft)).toEqual([4, 3, 2, 1, 0])
    expect(await confirm(desk, request)).toEqual({ outcome: 'none' })
  })
  attempt('its time is over after fifteen minutes', async ({ desk, advance }, request) => {
    advance(linkLimits.codeMs)
    expect(await confirm(desk, request)).toEqual({ outcome: 'none' })
  })
  attempt('a newer one for the same address takes its place', async ({ desk }, request) => {
    const newer = sketchRequest(ada, adasMail)
    await desk.requestLink(newer)
    expect(await confirm(desk, request)).toEqual({ outcome: 'wrong', triesLeft: 4 })
    expect(await confirm(desk, newer)).toMatchObject({ outcome: 'linked' })
  })
  attempt('two who bring it at once get one link', async ({ desk }, request) => {
    const outcomes = await Promise.all([confirm(desk, request), confirm(desk, request)])
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['linked', 'none'])
  })
  attempt('somebody else who has got the name of the account meanwhile cannot use it', async ({ desk }, request) => {
    expect(await confirm(desk, { ...request, asker: { ...ada, subject: 'https://social.test/2' } })).toEqual({
      outcome: 'none',
    })
  })

  test(
    'nobody is flooded: three codes a day for one address, whoever asks and of whatever agent',
    withDesk(open, async ({ desk, advance }) => {
      const victim = mailbox('victim')
      const ask = (name: string, agent: string) => desk.requestLink(sketchRequest(account(name), victim, { agent }))
      for (const [name, agent] of [
        ['a', 'echo'],
        ['b', 'help'],
        ['c', 'echo'],
      ] as const)
        expect(await ask(name, agent)).toMatchObject({ outcome: 'sent' })
      expect(await ask('d', 'other')).toEqual({ outcome: 'refused', reason: 'sent_too_often' })
      const tagged = { ...victim, address: '@victim+1@mail.test', subject: 'mailto:victim+1@mail.test' }
      expect(await desk.requestLink(sketchRequest(account('e'), tagged))).toMatchObject({ reason: 'sent_too_often' })
      advance(24 * 3_600_000)
      expect(await ask('d', 'other')).toMatchObject({ outcome: 'sent' })
    }),
  )
  test(
    'nobody floods: five codes an hour for one who asks, a hundred a day for his host',
    withDesk(open, async ({ desk, advance }) => {
      const ask = (asker: PersonIdentity, n: number) => desk.requestLink(sketchRequest(asker, mailbox(`m${n}`)))
      for (let n = 0; n < 5; n += 1) expect(await ask(eve, n)).toMatchObject({ outcome: 'sent' })
      expect(await ask(eve, 5)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      for (let n = 5; n < linkLimits.askedPerHostDay; n += 1)
        expect(await ask(account(`eve${n}`), n)).toMatchObject({ outcome: 'sent' })
      advance(2 * 3_600_000)
      expect(await ask(account('eve100'), 100)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      expect(await ask(mailbox('honest'), 101)).toMatchObject({ outcome: 'sent' })
    }),
  )
}

function describeCeiling(open: OpenDesk): void {
  test(
    'all together five hundred codes leave in a day, from however many servers they are asked for',
    withDesk(open, async ({ desk, advance }) => {
      const ask = (n: number) => {
        const asker = { via: 'activitypub', address: `@a@s${n}.test`, subject: `https://s${n}.test/a` } as const
        return desk.requestLink(sketchRequest(asker, mailbox(`m${n}`)))
      }
      const asked = await Promise.all(Array.from({ length: linkLimits.sentPerDay }, (_, n) => ask(n)))
      expect(asked.every(({ outcome }) => outcome === 'sent')).toBe(true)
      expect(await ask(1000)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      advance(24 * 3_600_000)
      expect(await ask(1000)).toMatchObject({ outcome: 'sent' })
    }),
  )
}

function describeLinks(open: OpenDesk): void {
  test(
    'linked addresses are one person for that agent, whichever of them speaks',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const both = ['activitypub @ada@social.test', 'email @ada@mail.test']
      expect(await addressesOf(desk, ada)).toEqual(both)
      expect(await addressesOf(desk, adasMail)).toEqual(both)
      expect(await addressesOf(desk, ada, 'help')).toEqual([])
      expect(await desk.requestLink(sketchRequest(adasMail, ada))).toEqual({ outcome: 'refused', reason: 'linked' })
    }),
  )
  test(
    'who has got the account of a linked address is not that person',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const successor = { ...ada, subject: 'https://social.test/another-ada' }
      expect(await addressesOf(desk, successor)).toEqual([])
      expect(await desk.unlink('echo', successor, adasMail)).toBe(false)
      expect(await addressesOf(desk, adasMail)).toHaveLength(2)
    }),
  )
  test(
    'who has got the account anew and links a mailbox of his is not joined with what was the other’s',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const successor = { ...ada, subject: 'https://social.test/another-ada' }
      await link(desk, successor, mailbox('eve'))
      const both = ['activitypub @ada@social.test', 'email @eve@mail.test']
      expect(await addressesOf(desk, successor)).toEqual(both)
      expect(await addressesOf(desk, mailbox('eve'))).toEqual(both)
      expect(await addressesOf(desk, adasMail)).toEqual([])
      expect(await addressesOf(desk, ada)).toEqual([])
    }),
  )
  test(
    'nor is he whom another one links to the account that he has got anew',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      await link(desk, eve, { ...ada, subject: 'https://social.test/another-ada' })
      expect(await addressesOf(desk, eve)).toEqual(['activitypub @ada@social.test', 'activitypub @eve@social.test'])
      expect(await addressesOf(desk, adasMail)).toEqual([])
    }),
  )
  test(
    'an address that nobody has spoken from belongs to who speaks first',
    withDesk(open, async ({ desk }) => {
      const { subject: _, ...unknown } = account('late')
      await link(desk, adasMail, unknown)
      expect(await addressesOf(desk, account('late'))).toHaveLength(2)
      expect(await addressesOf(desk, { ...account('late'), subject: 'https://social.test/x' })).toEqual([])
    }),
  )
  test(
    'a chain falls apart when its middle goes',
    withDesk(open, async ({ desk }) => {
      const [middle, end] = [adasMail, mailbox('third')]
      await link(desk, ada, middle)
      await link(desk, middle, end)
      expect(await addressesOf(desk, ada)).toHaveLength(3)
      expect(await desk.unlink('echo', end, eve)).toBe(false)
      expect(await desk.unlink('echo', ada, middle)).toBe(true)
      for (const each of [ada, middle, end]) expect(await addressesOf(desk, each)).toEqual([])
      expect(await desk.unlink('echo', ada, middle)).toBe(false)
      expect(await desk.listLinks({ limit: 10 })).toEqual([])
    }),
  )
  test(
    'no person has more than eight addresses, by whichever end it grows',
    withDesk(open, async ({ desk, advance }) => {
      for (let n = 1; n < linkLimits.addresses; n += 1) {
        await link(desk, ada, mailbox(`a${n}`))
        advance(3_600_000)
      }
      expect(await desk.requestLink(sketchRequest(ada, eve))).toEqual({ outcome: 'refused', reason: 'full' })
      const early = sketchRequest(eve, mailbox('e1'))
      await desk.requestLink(early)
      expect(await desk.requestLink(sketchRequest(mailbox('a3'), mailbox('e1')))).toEqual({
        outcome: 'refused',
        reason: 'full',
      })
    }),
  )
  test(
    'links are listed page by page',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      await link(desk, eve, mailbox('eve'), 'help')
      const [first] = await desk.listLinks({ limit: 1 })
      expect(await desk.listLinks({ limit: 1, after: first?.place })).toMatchObject([{ agent: 'help' }])
      expect(await desk.listLinks({ agent: 'echo', limit: 10 })).toEqual([first])
    }),
  )
}
