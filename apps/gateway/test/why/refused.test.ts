import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Explanation } from '../../src/why/explanation.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { askWhy, awaitReason, expectWellFormed, factsOf } from './ask-why.ts'

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

async function post(fault: Fault | undefined, from?: string): Promise<string> {
  return (await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', text: 'hello', fault, from }))
    .activityId
}

async function mail(fault: Fault): Promise<string> {
  return (await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello', fault })).mail.messageId
}

/** What the newest refusal of somebody, or to an agent, is explained by. */
function awaitNewest(asked: string, code: string): Promise<Explanation> {
  return awaitReason(gateway, asked, code)
}

describe('why, of a refused post or mail', () => {
  test('because its signature does not hold: by the id of the activity', async () => {
    const tampered = await awaitReason(gateway, await post('tampered'), 'bad_signature')
    expect(tampered.sentence).toMatch(/^Refused with 401 at [\d :-]+ UTC: its proof does not hold \(.+\)$/)
    expect(tampered.sender).toBe('https://mastodon.test/users/alice')
    const forged = await awaitReason(gateway, await post('forged'), 'bad_signature')
    expect(forged.fix?.text).toContain('their server signs with another key than it publishes')
    for (const each of [tampered, forged]) {
      expect(each.kind).toBe('refusal')
      expect(factsOf(each)).toContain('from 127.0.0.1')
      expectWellFormed(each)
    }
  })

  test('because its proof is too old: by the address of the sender, as the key names it', async () => {
    await post('expired', 'bob@mastodon.test')
    const found = await awaitNewest('@bob@mastodon.test', 'expired')
    expect(found.sentence).toMatch(
      /: its proof is too old, or of the future \(signed at "2\S+", before the accepted window\)$/,
    )
    expect(found.fix?.text).toContain('clock')
    expect((await askWhy(gateway, '@carol@mastodon.test')).found).toBe('nothing')
    expectWellFormed(found)
  })

  test('because nothing proves it: by the agent that it was for', async () => {
    await post('unsigned')
    const found = await awaitNewest('@echo@agents.test', 'unsigned')
    expect(found.sentence).toMatch(/^Refused with 401 at [\d :-]+ UTC: nothing proves who sent it \(.+\)$/)
    expectWellFormed(found)
  })

  test('because there is no such agent: by the address of its recipient', async () => {
    await post('unknown_recipient')
    const found = await awaitNewest('@no-such-agent@agents.test', 'unknown_recipient')
    expect(found.sentence).toMatch(/^Refused with 404 at /)
    expect(found.fix?.text).toContain('Add agents.no-such-agent if you want it')
    expectWellFormed(found)
  })

  test('because of a block of its host', async () => {
    const found = await awaitReason(gateway, await post(undefined, 'alice@snac.test'), 'blocked')
    expect(found.sentence).toContain('an operator has blocked its host')
    expect(found.fix?.text).toContain('activitypub.block')
  })

  test('because the host of its key is down: the peer comes again by itself', async () => {
    const found = await awaitReason(gateway, await post('key_host_down'), 'key_host_down')
    expect(found.sentence).toMatch(
      /^Put off with 503 at [\d :-]+ UTC: the host that has the key did not answer, so the gateway could not check the proof/,
    )
    expectWellFormed(found)
    const mailed = await awaitReason(gateway, await mail('key_host_down'), 'key_host_down')
    expect(mailed.sentence).toMatch(/^Put off with 451 at /)
  })

  test('because of DMARC', async () => {
    const found = await awaitReason(gateway, await mail('tampered'), 'dmarc_rejected')
    expect(found.sentence).toMatch(/^Refused with 550 at /)
    expect(found.fix?.text).toContain('email.trust.dmarc_reject')
    // With angles, as a header has it.
    expect((await askWhy(gateway, `<${found.id}>`)).explanations[0]?.code).toBe('dmarc_rejected')
    // By who it claims to be from, whatever name stands before the address, and by the agent.
    for (const asked of ['@alice@alice.test', 'alice@alice.test', 'echo', 'echo@agents.test']) {
      const { explanations } = await askWhy(gateway, asked)
      expect(explanations.map(({ code }) => code)).toContain('dmarc_rejected')
    }
    expect(found.fix?.command).toBe('npx postern resolve @alice@alice.test')
  })

  test('because there is no such agent: by the address of a mail', async () => {
    await mail('unknown_recipient')
    const found = await awaitNewest('no-such-agent@agents.test', 'unknown_recipient')
    expect(found.agent).toBe('no-such-agent')
    expect(found.fix?.text).toMatch(/Add agents\.no-such-agent /)
  })

  test('the newest first, and every reason of it', async () => {
    const { explanations } = await askWhy(gateway, '@alice@mastodon.test')
    expect(explanations.map(({ code }) => code)).toContain('bad_signature')
    const times = explanations.map(({ since }) => since)
    expect(times).toEqual(times.toSorted().toReversed())
  })

  test('and came again: the message tells of the refusals before it', async () => {
    const { fediverse } = gateway.simulation
    const id = 'https://gotosocial.test/users/alice/statuses/again'
    const message = { to: '@echo@agents.test', text: 'hello', from: 'alice@gotosocial.test', id }
    expect((await fediverse.deliver({ ...message, fault: 'tampered' })).status).toBe(401)
    const { activityId } = await fediverse.deliver(message)
    const found = await awaitReason(gateway, activityId, 'answered')
    expect(factsOf(found)).toMatch(/Refused with 401 at [\d :-]+ UTC: its proof does not hold/)
  })
})

describe('why, of a refused call', () => {
  async function call(agent: string, fault?: Fault): Promise<string> {
    const url = `${gatewayOrigin}/agents/${agent}/a2a`
    const messageId = crypto.randomUUID()
    await gateway.simulation.a2a.deliver({ url, text: 'hello', fault, messageId })
    return messageId
  }

  test('by its agent: a token that is too old, or of an issuer whose keys nobody can get', async () => {
    await call('echo', 'expired')
    expect((await awaitNewest('echo', 'expired')).sentence).toMatch(/^Refused with 401 at /)
    await call('echo', 'key_host_down')
    const down = await awaitNewest('echo', 'key_host_down')
    expect(down.sentence).toMatch(/^Put off with 503 at /)
    expectWellFormed(down)
  })

  test('because agents have passed it on too often: by its messageId', async () => {
    const url = `${gatewayOrigin}/agents/echo/a2a`
    const metadata = { mentionable: { agent_chain: { hop: 99, max_hops: 99 } } }
    const { messageId } = await gateway.simulation.a2a.deliver({ url, text: 'hello', metadata })
    const found = await awaitReason(gateway, messageId, 'hop_limit')
    expect(found.fix?.text).toContain('limits.loop.max_hops')
    expectWellFormed(found)
  })

  test('because the sender may not speak to the agent', async () => {
    const found = await awaitReason(gateway, await call('club'), 'not_allowed')
    expect(found.fix?.text).toContain('agents.club.allow')
    expectWellFormed(found)
  })
})

describe('why, at a limit', () => {
  test('by the id of what was one too many', async () => {
    const limited = await openTestGateway(() => ({ limits: { per_identity: 1 } }))
    try {
      const { fediverse } = limited.simulation
      const send = () => fediverse.deliver({ to: '@echo@agents.test', text: 'hello' })
      const statuses = [await send(), await send(), await send()]
      expect(statuses.map(({ status }) => status)).toContain(429)
      const last = statuses.findLast(({ status }) => status === 429)
      const found = await awaitReason(limited, last?.activityId ?? '', 'rate_limited')
      expect(found.sentence).toMatch(/^Refused with 429 at [\d :-]+ UTC: it went over a limit \(.+\)$/)
      expect(found.fix?.text).toContain('limits.per_address')
      expectWellFormed(found)
    } finally {
      await limited.close()
    }
  })
})
