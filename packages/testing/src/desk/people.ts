import type { Desk, LinkRequest, PersonAddress, PersonIdentity } from '@postern/core'
import { linkLimits } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { DeskUnderTest, IntakeSketch, OpenDesk } from './under-test.ts'
import { leaseOnlyTurn, sketchAnswer, sketchIntake, withDesk } from './under-test.ts'

const account = (name: string): PersonIdentity => ({
  via: 'activitypub',
  address: `@${name}@social.test`,
  subject: `https://social.test/${name}`,
})
const mailbox = (name: string): PersonIdentity => ({
  via: 'email',
  address: `@${name}@mail.test`,
  subject: `mailto:${name}@mail.test`,
})

const ada = account('ada')
const adasMail = mailbox('ada')
const eve = account('eve')
let nextMessage = 1_000_000

function sketchRequest(asker: PersonIdentity, target: PersonAddress, rest: Partial<LinkRequest> = {}): LinkRequest {
  nextMessage += 1
  const digest = `digest ${nextMessage}`
  return { agent: 'echo', asker, target, message: nextMessage, digest, notice: `notice ${nextMessage}`, ...rest }
}

function confirm(desk: Desk, { agent, asker, digest }: LinkRequest, rest: Partial<LinkRequest> = {}) {
  nextMessage += 1
  return desk.confirmLink({ agent, asker, digest, message: nextMessage, ...rest })
}

async function link(desk: Desk, asker: PersonIdentity, target: PersonAddress, agent = 'echo') {
  const request = sketchRequest(asker, target, { agent })
  expect(await desk.requestLink(request)).toMatchObject({ outcome: 'sent' })
  expect(await confirm(desk, request)).toMatchObject({ outcome: 'linked' })
}

const addressesOf = async (desk: Desk, identity: PersonIdentity, agent = 'echo') =>
  (await desk.findPerson(agent, identity))?.addresses.map(({ via, address }) => `${via} ${address}`) ?? []

/** A message to the agent in a conversation of this identity alone. */
function from(identity: PersonIdentity, id: string, rest: IntakeSketch = {}): IntakeSketch {
  const { via, address, subject } = identity
  return {
    ...rest,
    ...(via === 'activitypub' && { authorship: { author: subject, object: `object of ${id}` } }),
    message: { sender: { address, auth_method: 'none', verified: false }, received_via: via, ...rest.message },
    thread: { scope: scopeOf(identity), ...rest.thread },
  }
}

const scopeOf = ({ via, subject }: PersonIdentity) => (via === 'email' ? subject.replace('mailto:', 'v:') : subject)
const scopesOf = (...identities: PersonIdentity[]) =>
  identities.map(identity => ({ via: identity.via, scope: scopeOf(identity) }))

/** Admits and answers a message. */
async function converse(desk: Desk, id: string, sketch: IntakeSketch): Promise<{ message: number; thread: number }> {
  const { message } = await desk.admit(sketchIntake(id, sketch), 'c')
  const turn = await leaseOnlyTurn(desk)
  await desk.commit(turn, sketchAnswer(turn, `answer to ${id}`))
  return { message, thread: turn.thread }
}

const textsOf = async (desk: Desk, before = 1_000_000, ...identities: PersonIdentity[]) => {
  const request = { agent: 'echo', scopes: scopesOf(...identities), before, head: 2, tail: 10 }
  return (await desk.readPersonHistory(request)).map(
    ({ via, parts }) => `${via} ${parts[0]?.kind === 'text' ? parts[0].content : ''}`,
  )
}

export function peopleContract(open: OpenDesk): void {
  describe('people', () => {
    describeCodes(open)
    describeLinks(open)
    describeSharing(open)
    describeForgetting(open)
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
    expect(await confirm(desk, request, { message: 7 })).toEqual({
      outcome: 'linked',
      target: { via: 'email', address: '@ada@mail.test' },
    })
    expect(await confirm(desk, request, { message: 7 })).toMatchObject({ outcome: 'linked' })
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
      advance(24 * 3_600_000)
      expect(await ask('d', 'other')).toMatchObject({ outcome: 'sent' })
    }),
  )
  test(
    'nobody floods: five codes an hour for one who asks, thirty a day for his host',
    withDesk(open, async ({ desk, advance }) => {
      const ask = (asker: PersonIdentity, n: number) => desk.requestLink(sketchRequest(asker, mailbox(`m${n}`)))
      for (let n = 0; n < 5; n += 1) expect(await ask(eve, n)).toMatchObject({ outcome: 'sent' })
      expect(await ask(eve, 5)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      for (let n = 5; n < 30; n += 1) expect(await ask(account(`eve${n}`), n)).toMatchObject({ outcome: 'sent' })
      advance(2 * 3_600_000)
      expect(await ask(account('eve30'), 30)).toEqual({ outcome: 'refused', reason: 'asked_too_often' })
      expect(await ask(mailbox('honest'), 31)).toMatchObject({ outcome: 'sent' })
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

function describeSharing(open: OpenDesk): void {
  test(
    'the conversations of a person are one past, in the order of time, each marked by its way',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from(adasMail, 'm2'))
      await converse(desk, 'm3', from(eve, 'm3'))
      await converse(desk, 'm4', from(ada, 'm4', { thread: { scope: 'public' } }))
      await converse(desk, 'm5', from(ada, 'm5', { agent: 'help' }))
      const { message } = await converse(desk, 'm6', from(ada, 'm6'))
      expect(await textsOf(desk, message, ada, adasMail)).toEqual([
        'activitypub words of m1',
        'activitypub answer to m1',
        'email words of m2',
        'email answer to m2',
      ])
      expect(await textsOf(desk, 1_000_000, eve)).toEqual(['activitypub words of m3', 'activitypub answer to m3'])
    }),
  )
  test(
    'capitals make no difference in a mailbox, and do in an account',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from({ ...adasMail, subject: 'mailto:Ada@mail.test' }, 'm1'))
      await converse(desk, 'm2', from({ ...ada, subject: 'https://social.test/Ada' }, 'm2'))
      expect(await textsOf(desk, 1_000_000, ada, adasMail)).toEqual(['email words of m1', 'email answer to m1'])
    }),
  )
  test(
    'what the gateway said itself is not recalled, nor what it answered',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', from(ada, 'm1')), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.commit(turn, { ...sketchAnswer(turn, 'a code'), isAside: true })
      expect(await textsOf(desk, 1_000_000, ada)).toEqual([])
      expect(await desk.readHistory({ thread: turn.thread, before: 1_000_000, head: 5, tail: 5 })).toEqual([])
    }),
  )
  test(
    'both ends are read, and nothing twice',
    withDesk(open, async ({ desk }) => {
      for (let n = 0; n < 9; n += 1) await converse(desk, `m${n}`, from(n % 2 ? ada : adasMail, `m${n}`))
      const texts = await textsOf(desk, 1_000_000, ada, adasMail)
      expect(texts.slice(0, 3)).toEqual(['email words of m0', 'email answer to m0', 'email words of m4'])
      expect(texts.at(-1)).toBe('email answer to m8')
      expect(texts).toHaveLength(12)
    }),
  )
  test(
    'what an agent keeps of a person is written with its answer, follows the person when it grows, and goes when it is torn',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const keep = async (id: string, state: string) => {
        await desk.admit(sketchIntake(id, from(ada, id)), 'c')
        const turn = await leaseOnlyTurn(desk)
        const person = (await desk.findPerson('echo', ada))?.id ?? 'nobody'
        await desk.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state } })
      }
      const read = async (identity: PersonIdentity) =>
        desk.readPersonState('echo', (await desk.findPerson('echo', identity))?.id ?? '')
      await keep('m1', 'likes tea')
      expect(await read(adasMail)).toBe('likes tea')
      await link(desk, ada, account('aaa'))
      expect(await read(account('aaa'))).toBe('likes tea')
      await desk.unlink('echo', ada, account('aaa'))
      expect(await read(ada)).toBeUndefined()
    }),
  )
  test(
    'of two who are joined the one who asked keeps his own',
    withDesk(open, async ({ desk }) => {
      const put = async (id: string, who: PersonIdentity) => {
        await desk.admit(sketchIntake(id, from(who, id)), 'c')
        const turn = await leaseOnlyTurn(desk)
        const person = (await desk.findPerson('echo', who))?.id ?? 'nobody'
        await desk.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state: `of ${who.address}` } })
      }
      await link(desk, eve, mailbox('eve'))
      await link(desk, ada, adasMail)
      await put('m1', eve)
      await put('m2', ada)
      await link(desk, eve, ada)
      const person = await desk.findPerson('echo', adasMail)
      expect(await desk.readPersonState('echo', person?.id ?? '')).toBe(`of ${eve.address}`)
    }),
  )
  test(
    'a state that comes too late, when the person is torn, is not kept',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const person = (await desk.findPerson('echo', ada))?.id ?? ''
      await desk.admit(sketchIntake('m1', from(ada, 'm1')), 'c')
      const turn = await leaseOnlyTurn(desk)
      await desk.unlink('echo', ada, adasMail)
      await desk.commit(turn, { ...sketchAnswer(turn, 'noted'), personState: { person, state: 1 } })
      expect(await desk.readPersonState('echo', person)).toBeUndefined()
    }),
  )
}

function describeForgetting(open: OpenDesk): void {
  const bytes = new TextEncoder().encode('a picture')
  test(
    'all of a person’s addresses are forgotten by the agent, and nobody else’s words',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail)
      const blobs = [{ digest: 'd1', bytes }]
      await converse(desk, 'm1', from(ada, 'm1', { blobs }))
      await converse(desk, 'm2', from(adasMail, 'm2'))
      await converse(desk, 'm3', from(ada, 'm3', { thread: { scope: 'public' } }))
      await converse(desk, 'm4', from(ada, 'm4', { agent: 'help' }))
      await converse(desk, 'm5', from(eve, 'm5'))
      expect(await desk.findBlob('d1')).toBeDefined()
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [adasMail] })).toMatchObject({ messages: 3, links: 1 })
      for (const id of ['m1', 'm2', 'm3']) expect(await desk.findMessage(id)).toBeUndefined()
      expect(await desk.findResponse('answer to m1')).toBeUndefined()
      expect(await desk.findBlob('d1')).toBeUndefined()
      expect((await desk.listMessages({ limit: 10 })).map(({ id }) => id)).toEqual(['m5', 'm4'])
      expect(await textsOf(desk, 1_000_000, ada, adasMail)).toEqual([])
      expect(await addressesOf(desk, ada)).toEqual([])
      expect(await desk.findMessage('m5')).toMatchObject({ state: 'answered' })
    }),
  )
  test(
    'the operator’s word counts for all agents',
    withDesk(open, async ({ desk }) => {
      await link(desk, ada, adasMail, 'help')
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from(adasMail, 'm2', { agent: 'help' }))
      const { subject: _, ...named } = ada
      expect(await desk.forgetPerson({ addresses: [named] })).toEqual({ messages: 2, links: 1, relations: 0 })
      expect(await desk.listMessages({ limit: 10 })).toEqual([])
    }),
  )
  test(
    'totals go on being right, and what waited behind it goes on',
    withDesk(open, async ({ desk }) => {
      const inOne = { message: { thread_id: 't' }, thread: { scope: 'public' } }
      await converse(desk, 'm0', from(eve, 'm0', inOne))
      await desk.admit(sketchIntake('m1', from(ada, 'm1', inOne)), 'c')
      await desk.admit(sketchIntake('m2', from(eve, 'm2', inOne)), 'c')
      const running = await leaseOnlyTurn(desk)
      expect(running.content.id).toBe('m1')
      await desk.forgetPerson({ agent: 'echo', addresses: [ada] })
      await expect(desk.commit(running, sketchAnswer(running, 'too late'))).rejects.toThrow()
      expect((await leaseOnlyTurn(desk)).content.id).toBe('m2')
      expect((await desk.count()).messages).toEqual({ received: 0, working: 1, answered: 1, failed: 0, ignored: 0 })
    }),
  )
  test(
    'the message that asks for it is still answered, and numbers are not given again',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      const { message } = await desk.admit(sketchIntake('m2', from(ada, 'm2')), 'c')
      const turn = await leaseOnlyTurn(desk)
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada], except: message })).toMatchObject({
        messages: 1,
      })
      await desk.commit(turn, sketchAnswer(turn, 'done', ['https://social.test/inbox']))
      const { message: last } = await converse(desk, 'm3', from(ada, 'm3'))
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 2 })
      expect((await desk.count()).deliveries).toMatchObject({ queued: 0, sent: 0, dead: 0 })
      const { message: next } = await converse(desk, 'm4', from(ada, 'm4'))
      expect(next).toBeGreaterThan(last)
    }),
  )
  test(
    'whoever has the account now keeps what is his',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await converse(desk, 'm2', from({ ...ada, subject: 'https://social.test/2' }, 'm2'))
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toMatchObject({ messages: 1 })
      expect(await desk.findMessage('m2')).toBeDefined()
    }),
  )
  test(
    'he may write again as if for the first time',
    withDesk(open, async ({ desk }) => {
      await converse(desk, 'm1', from(ada, 'm1'))
      await desk.forgetPerson({ agent: 'echo', addresses: [ada] })
      const { thread } = await converse(desk, 'm1', from(ada, 'm1'))
      expect(await desk.readState('echo', thread)).toBeUndefined()
      expect(await textsOf(desk, 1_000_000, ada)).toEqual(['activitypub words of m1', 'activitypub answer to m1'])
    }),
  )
  test(
    'his codes are void, and who blocked an agent still has it blocked',
    withDesk(open, async ({ desk }) => {
      const request = sketchRequest(ada, adasMail)
      await desk.requestLink(request)
      const peer = ada.subject
      const relate = (relation: 'follower' | 'blocked_by') =>
        ({ kind: 'relate', relation, peer, target: null }) as const
      await desk.admit(
        sketchIntake(
          'm1',
          from(ada, 'm1', { disposition: 'keep', effects: [relate('follower'), relate('blocked_by')] }),
        ),
        'c',
      )
      expect(await desk.forgetPerson({ agent: 'echo', addresses: [ada] })).toEqual({
        messages: 1,
        links: 0,
        relations: 1,
      })
      const key = { via: 'activitypub', agent: 'echo', peer } as const
      expect(await desk.findRelation({ ...key, relation: 'follower' })).toBeUndefined()
      expect(await desk.findRelation({ ...key, relation: 'blocked_by' })).toBeDefined()
      expect(await confirm(desk, request)).toEqual({ outcome: 'none' })
    }),
  )
}
