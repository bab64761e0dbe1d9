import type { Explanation } from '@postern/operator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { askWhy, awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

type Fault = NonNullable<Parameters<TestGateway['simulation']['fediverse']['deliver']>[0]['fault']>

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(({ a2a: { issuerConfig, deadIssuerConfig } }) => {
    const issuers = [issuerConfig, deadIssuerConfig].map(issuer => ({ ...issuer, audience: `${gatewayOrigin}/a2a` }))
    return {
      a2a: { auth: { issuers } },
      activitypub: { block: ['snac.test'] },
      agents: { echo: { use: 'builtin:echo' }, club: { use: 'builtin:echo', allow: [{ issuer: 'nobody.test' }] } },
    }
  })
})
afterAll(() => gateway.close())

async function postFaulty(fault: Fault | undefined, from?: string): Promise<string> {
  return (await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', text: 'hello', fault, from }))
    .activityId
}

async function mail(fault: Fault): Promise<string> {
  return (await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello', fault })).mail.messageId
}

/** Waits for the explanation of the newest refusal of a sender, or of a message to an agent. */
function awaitNewest(query: string, code: string): Promise<Explanation> {
  return awaitReason(gateway, query, code)
}

describe('why explains a refused post or mail', () => {
  test('by the activity’s id if its signature is invalid', async () => {
    const tampered = await awaitReason(gateway, await postFaulty('tampered'), 'bad_signature')
    expect(tampered.sentence).toMatch(/^Refused with 401 at [\d :-]+ UTC: its proof does not hold \(.+\)$/)
    expect(tampered.sender).toBe('https://mastodon.test/users/alice')
    const forgedReason = await awaitReason(gateway, await postFaulty('forged'), 'bad_signature')
    expect(forgedReason.fix?.text).toContain('their server signs with another key than it publishes')
    for (const explanation of [tampered, forgedReason]) {
      expect(explanation.kind).toBe('refusal')
      expect(listFacts(explanation)).toContain('from 127.0.0.1')
      expectWellFormed(explanation)
    }
  })

  test('by the claimed sender if its proof is too old', async () => {
    await postFaulty('expired', 'bob@mastodon.test')
    const reason = await awaitNewest('@bob@mastodon.test', 'expired')
    expect(reason.sentence).toMatch(
      /: its proof is too old, or of the future \(signed at "2\S+", before the accepted window\)$/,
    )
    expect(reason.fix?.text).toContain('clock')
    expect((await askWhy(gateway, '@carol@mastodon.test')).found).toBe('nothing')
    expectWellFormed(reason)
  })

  test('by its agent if it has no proof', async () => {
    await postFaulty('unsigned')
    const reason = await awaitNewest('@echo@agents.test', 'unsigned')
    expect(reason.sentence).toMatch(/^Refused with 401 at [\d :-]+ UTC: nothing proves who sent it \(.+\)$/)
    expectWellFormed(reason)
  })

  test('by its recipient if that agent does not exist', async () => {
    await postFaulty('unknown_recipient')
    const reason = await awaitNewest('@no-such-agent@agents.test', 'unknown_recipient')
    expect(reason.sentence).toMatch(/^Refused with 404 at /)
    expect(reason.fix?.text).toContain('Add agents.no-such-agent if you want it')
    expectWellFormed(reason)
  })

  test('by its host if a block covers the host', async () => {
    const reason = await awaitReason(gateway, await postFaulty(undefined, 'alice@snac.test'), 'blocked')
    expect(reason.sentence).toContain('an operator has blocked its host')
    expect(reason.fix?.text).toContain('activitypub.block')
  })

  test('by its key’s host if that is down, since the peer will retry', async () => {
    const reason = await awaitReason(gateway, await postFaulty('key_host_down'), 'key_host_down')
    expect(reason.sentence).toMatch(
      /^Put off with 503 at [\d :-]+ UTC: the host that has the key did not answer, so the gateway could not check the proof/,
    )
    expectWellFormed(reason)
    const mailed = await awaitReason(gateway, await mail('key_host_down'), 'key_host_down')
    expect(mailed.sentence).toMatch(/^Put off with 451 at /)
  })

  test('because of DMARC', async () => {
    const reason = await awaitReason(gateway, await mail('tampered'), 'dmarc_rejected')
    expect(reason.sentence).toMatch(/^Refused with 550 at /)
    expect(reason.fix?.text).toContain('email.trust.dmarc_reject')
    // The id also works in angle brackets, as in a header.
    expect((await askWhy(gateway, `<${reason.id}>`)).explanations[0]?.code).toBe('dmarc_rejected')
    // The claimed sender also finds it, whatever name precedes the address, and so does the agent.
    for (const query of ['@alice@alice.test', 'alice@alice.test', 'echo', 'echo@agents.test']) {
      const { explanations } = await askWhy(gateway, query)
      expect(explanations.map(({ code }) => code)).toContain('dmarc_rejected')
    }
    expect(reason.fix?.command).toBe('npx postern resolve @alice@alice.test')
  })

  test('by the address of a mail if that agent does not exist', async () => {
    await mail('unknown_recipient')
    const reason = await awaitNewest('no-such-agent@agents.test', 'unknown_recipient')
    expect(reason.agent).toBe('no-such-agent')
    expect(reason.fix?.text).toMatch(/Add agents\.no-such-agent /)
  })

  test('newest first, with every reason', async () => {
    const { explanations } = await askWhy(gateway, '@alice@mastodon.test')
    expect(explanations.map(({ code }) => code)).toContain('bad_signature')
    const times = explanations.map(({ since }) => since)
    expect(times).toEqual(times.toSorted().toReversed())
  })

  test('as part of a later message that succeeded', async () => {
    const { fediverse } = gateway.simulation
    const id = 'https://gotosocial.test/users/alice/statuses/again'
    const message = { to: '@echo@agents.test', text: 'hello', from: 'alice@gotosocial.test', id }
    expect((await fediverse.deliver({ ...message, fault: 'tampered' })).status).toBe(401)
    const { activityId } = await fediverse.deliver(message)
    const reason = await awaitReason(gateway, activityId, 'answered')
    expect(listFacts(reason)).toMatch(/Refused with 401 at [\d :-]+ UTC: its proof does not hold/)
  })
})

describe('why explains a refused call', () => {
  async function callFaulty(agent: string, fault?: Fault): Promise<string> {
    const url = `${gatewayOrigin}/agents/${agent}/a2a`
    const messageId = crypto.randomUUID()
    await gateway.simulation.a2a.deliver({ url, text: 'hello', fault, messageId })
    return messageId
  }

  test('by its agent if the token is too old, or its issuer’s keys are not available', async () => {
    await callFaulty('echo', 'expired')
    expect((await awaitNewest('echo', 'expired')).sentence).toMatch(/^Refused with 401 at /)
    await callFaulty('echo', 'key_host_down')
    const down = await awaitNewest('echo', 'key_host_down')
    expect(down.sentence).toMatch(/^Put off with 503 at /)
    expectWellFormed(down)
  })

  test('by its messageId if agents have passed it on too often', async () => {
    const url = `${gatewayOrigin}/agents/echo/a2a`
    const metadata = { mentionable: { agent_chain: { hop: 99, max_hops: 99 } } }
    const { messageId } = await gateway.simulation.a2a.deliver({ url, text: 'hello', metadata })
    const reason = await awaitReason(gateway, messageId, 'hop_limit')
    expect(reason.fix?.text).toContain('limits.loop.max_hops')
    expectWellFormed(reason)
  })

  test('by the agent if the sender may not speak to it', async () => {
    const reason = await awaitReason(gateway, await callFaulty('club'), 'not_allowed')
    expect(reason.fix?.text).toContain('agents.club.allow')
    expectWellFormed(reason)
  })
})

describe('why explains a limit', () => {
  test('by the id of the message that exceeded it', async () => {
    const limited = await openTestGateway(() => ({ limits: { per_identity: 1 } }))
    try {
      const { fediverse } = limited.simulation
      const sendHello = () => fediverse.deliver({ to: '@echo@agents.test', text: 'hello' })
      const statuses = [await sendHello(), await sendHello(), await sendHello()]
      expect(statuses.map(({ status }) => status)).toContain(429)
      const lastLimited = statuses.findLast(({ status }) => status === 429)
      const reason = await awaitReason(limited, lastLimited?.activityId ?? '', 'rate_limited')
      expect(reason.sentence).toMatch(/^Refused with 429 at [\d :-]+ UTC: it went over a limit \(.+\)$/)
      expect(reason.fix?.text).toContain('limits.per_address')
      expectWellFormed(reason)
    } finally {
      await limited.close()
    }
  })
})
