import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

const parrot = { use: join(import.meta.dirname, '../agents/reporting/parrot.ts') }
let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: {
      parrot,
      guarded: { ...parrot, deny: [{ issuer: 'mastodon.test' }] },
    },
    activitypub: { max_mentions: 1 },
    limits: { loop: { similar_turns: 1 } },
  }))
})
afterAll(() => gateway.close())

async function mail(plan: Partial<Parameters<TestGateway['simulation']['mail']['deliver']>[0]> = {}): Promise<string> {
  const receipt = await gateway.simulation.mail.deliver({ to: 'parrot@agents.test', text: 'hello', ...plan })
  expect(receipt.answer).toBe(250)
  return receipt.mail.messageId
}

describe('why explains a message that the agent does not get', () => {
  test('because it does not name the agent', async () => {
    const { mail: composer } = gateway.simulation
    const composedMail = await composer.compose({ to: 'somebody@elsewhere.test', text: 'hello' })
    const envelope = { ...composedMail.envelope, to: ['parrot@agents.test'] }
    expect((await composer.sendSmtp({ ...composedMail, envelope })).code).toBe(250)
    const reason = await awaitReason(gateway, composedMail.messageId, 'not_addressed')
    expect(reason.sentence).toMatch(/^Not answered: the agent stands neither in To nor in Cc, .*, at [\d :-]+ UTC$/)
    expect(reason.fix?.text).toContain('email.answer_bcc')
    expectWellFormed(reason)
  })

  test('because of its quarantine', async () => {
    const reason = await awaitReason(
      gateway,
      await mail({ from: 'x@quarantine.test', sign: false, envelopeFrom: 'x@evil.test' }),
      'quarantined',
    )
    expect(reason.sentence).toContain('the DMARC policy of the author')
    expect(reason.fix?.text).toContain('email.trust')
    expectWellFormed(reason)
  })

  test('because a program wrote it', async () => {
    const reason = await awaitReason(
      gateway,
      await mail({ headers: { 'auto-submitted': 'auto-replied' } }),
      'automatic',
    )
    expect(reason.sentence).toContain('it is an automatic reply')
    expectWellFormed(reason)
  })

  test('because of a loop', async () => {
    const text = 'Whoever writes these very same words again and again is not read any more by anybody here'
    const first = await mail({ text })
    await awaitReason(gateway, first, 'answered')
    const second = await mail({ text, inReplyTo: first })
    await awaitReason(gateway, second, 'answered')
    const third = await mail({ text, inReplyTo: second })
    const reason = await awaitReason(gateway, third, 'loop_guard')
    expect(reason.fix?.text).toContain('limits.loop.agent_turns_per_hour')
    expect(listFacts(reason)).toContain('flags: ')
    expectWellFormed(reason)
  })

  test('because its access list excludes the sender', async () => {
    const { fediverse } = gateway.simulation
    const receipt = await fediverse.deliver({ to: '@guarded@agents.test', text: 'hello' })
    const reason = await awaitReason(gateway, receipt.activityId, 'not_allowed')
    expect(reason.fix?.text).toContain('agents.guarded.deny')
    // The id of the post finds the same explanation.
    expect((await awaitReason(gateway, receipt.objectId, 'not_allowed')).message).toBe(reason.message)
    expectWellFormed(reason)
  })

  test('because the sender blocks the agent', async () => {
    const { fediverse } = gateway.simulation
    const from = 'bob@mastodon.test'
    const object = `https://agents.test/agents/parrot`
    expect((await fediverse.send({ to: '@parrot@agents.test', from, type: 'Block', object })).status).toBe(202)
    const receipt = await fediverse.deliver({ to: '@parrot@agents.test', from, text: 'hello' })
    const reason = await awaitReason(gateway, receipt.activityId, 'blocked_by')
    expect(reason.fix?.text).toContain('they have to unblock the agent')
    expectWellFormed(reason)
  })

  test('because it mentions too many people', async () => {
    const { fediverse } = gateway.simulation
    const tag = ['alice', 'bob', 'carol'].map(name => ({
      type: 'Mention',
      href: `https://gotosocial.test/users/${name}`,
    }))
    const object = {
      id: 'https://mastodon.test/users/alice/statuses/crowd',
      type: 'Note',
      attributedTo: 'https://mastodon.test/users/alice',
      content: '<p>all of you</p>',
      to: ['https://www.w3.org/ns/activitystreams#Public'],
      cc: ['https://agents.test/agents/parrot'],
      tag,
    }
    const receipt = await fediverse.send({ to: '@parrot@agents.test', type: 'Create', object })
    expect(receipt.status).toBe(202)
    const reason = await awaitReason(gateway, object.id, 'mass_mention')
    expect(reason.fix?.text).toContain('activitypub.max_mentions')
    expectWellFormed(reason)
  })

  test('because its author deleted it', async () => {
    const { fediverse } = gateway.simulation
    const receipt = await fediverse.deliver({ to: '@parrot@agents.test', text: 'oops' })
    await awaitReason(gateway, receipt.activityId, 'answered')
    const object = { id: receipt.objectId, type: 'Tombstone' }
    expect((await fediverse.send({ to: '@parrot@agents.test', type: 'Delete', object })).status).toBe(202)
    const reason = await awaitReason(gateway, receipt.activityId, 'taken_back')
    expect(reason.sentence).toMatch(/^No longer answered: its author took it back at [\d :-]+ UTC$/)
    expectWellFormed(reason)
  })
})
