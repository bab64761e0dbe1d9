import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultLimits } from '../src/config.ts'
import type { ConnectorGateway } from './gateway.ts'
import { openConnectorGateway } from './gateway.ts'
import { awaitEntry, requirementIn } from './visitor.ts'

let gateway: ConnectorGateway

beforeAll(async () => {
  gateway = await openConnectorGateway({ credentials: true, limits: { ...defaultLimits, loginsPerMinute: 100 } })
})
afterAll(() => gateway.close())

const readSessionId = (cookie: string) =>
  JSON.parse(Buffer.from(cookie.split('=')[1]?.split('.')[0] ?? '', 'base64url').toString()).id as string

describe('a person’s message in a room', () => {
  test('reaches the agent that it mentions, with proof of its author and inline mentions (MN-11)', async () => {
    const ann = await gateway.logIn('Ann')
    expect(await ann.sayInRoom('@teller@agents.test hello')).toBe(303)
    await gateway.connector.idle()
    const subject = `room:lobby/${readSessionId(ann.cookie)}`
    const [answer] = (await ann.answers()).slice(-1)
    const identities = ['chat.test', 'did:web:chat.test'].map(issuer => `${subject} by ${issuer} (signed-attestation)`)
    const caller = 'chat-room by https://chat.test (transport)'
    expect(answer).toBe(`@teller@agents.test: heard: hello | inline | no chain | ${[caller, ...identities].join(', ')}`)
    const [record] = await gateway.messages()
    expect(record?.message.sender).toMatchObject({
      address: '@chat-room@chat.test',
      display_name: 'Ann',
      profile: { display_name: 'Ann', provider_subject: subject },
    })
    expect(record?.proofs.map(({ kind, verdict }) => [kind, verdict])).toEqual([
      ['jwt', 'pass'],
      ['identity-evidence', 'pass'],
      ['verifiable-credential', 'pass'],
    ])
  })

  test('reaches no agent when it mentions nobody or only the room itself', async () => {
    const ann = await gateway.logIn('Ann')
    const countBefore = (await gateway.messages()).length
    await ann.sayInRoom('hello ann@agents.test and @somebody@chat.test')
    await gateway.connector.idle()
    expect((await gateway.messages()).length).toBe(countBefore)
  })

  test('continues one conversation for each agent and room', async () => {
    const ann = await gateway.logIn('Ann')
    const bob = await gateway.logIn('Bob')
    await ann.postForm('/rooms', { csrf: await ann.formToken(), name: 'kitchen' })
    await ann.sayInRoom('@teller one', 'kitchen')
    await bob.sayInRoom('@teller two', 'kitchen')
    await ann.sayInRoom('@teller three')
    await gateway.connector.idle()
    const records = (await gateway.messages()).slice(0, 3)
    const threads = new Map(records.map(({ message }) => [JSON.stringify(message.parts), message.thread_id]))
    const [annThread, bobThread, otherRoomThread] = ['one', 'two', 'three'].map(word =>
      threads.get(JSON.stringify([{ kind: 'text', mime: 'text/plain', content: word }])),
    )
    expect(annThread).toBeDefined()
    expect(bobThread).toBe(annThread)
    expect(otherRoomThread).not.toBe(annThread)
  })

  test('streams the agent’s answer to everyone in the room', async () => {
    const ann = await gateway.logIn('Ann')
    const bob = await gateway.logIn('Bob')
    const entries = await bob.watch()
    await ann.sayInRoom('@holder wait')
    const first = await awaitEntry(entries, ({ by, text }) => by === '@holder@agents.test' && text.startsWith('first'))
    expect([first.kind, first.text]).toEqual(['agent working', 'first…'])
    await ann.postForm('/rooms', { csrf: await ann.formToken(), name: 'elsewhere' })
    await ann.sayInRoom('@holder go on', 'elsewhere')
    const entry = await awaitEntry(entries, ({ id, kind }) => id === first.id && kind === 'agent said')
    expect(entry.text).toBe('first second')
    await entries.return()
    await gateway.connector.idle()
  })

  test('answers the agent’s question only if its author is the person asked', async () => {
    const ann = await gateway.logIn('Ann')
    const bob = await gateway.logIn('Bob')
    await ann.sayInRoom('@asker a bucket')
    await gateway.connector.idle()
    await ann.sayInRoom('@asker red')
    await gateway.connector.idle()
    expect((await ann.answers()).slice(-2)).toEqual([
      '@asker@agents.test: Which colour?',
      '@asker@agents.test: So it is red.',
    ])
    const records = await gateway.messages()
    const threadIds = records.slice(0, 2).map(({ message }) => message.thread_id)
    expect(threadIds[0]).toBe(threadIds[1])
    await bob.sayInRoom('@asker blue')
    await gateway.connector.idle()
    expect((await bob.answers()).at(-1)).toBe('@asker@agents.test: So it is blue.')
  })
})

describe('an agent that mentions another agent', () => {
  test('wakes the mentioned agent by the text of the answer, without evidence (MN-8.1 inline)', async () => {
    const ann = await gateway.logIn('Ann')
    await ann.sayInRoom('@convener please')
    await gateway.connector.idle()
    const [convener, teller] = (await ann.answers()).slice(-2)
    expect(convener).toBe('@convener@agents.test: Let us ask.\n\n@teller@agents.test')
    expect(teller).toBe(
      '@teller@agents.test: heard: convener@agents.test says:\nLet us ask.\n\n@teller@agents.test | inline | hop 1 of 3 | chat-room by https://chat.test (transport)',
    )
  })

  test('wakes no agent beyond the last hop, and none that only a quotation mentions (MN-8.3)', async () => {
    const ann = await gateway.logIn('Ann')
    const sendAndRead = async (text: string) => {
      const countBefore = (await gateway.messages()).length
      await ann.sayInRoom(text)
      await gateway.connector.idle()
      const records = (await gateway.messages()).slice(0, -countBefore)
      return records
        .map(({ message }) => [message.recipient.split('@')[1], message.recipient_capabilities.agent_chain?.hop ?? 0])
        .toReversed()
    }
    // Each of the two agents mentions the other in every answer.
    expect(await sendAndRead('@ping')).toEqual([
      ['ping', 0],
      ['pong', 1],
      ['ping', 2],
      ['pong', 3],
    ])
    expect(await sendAndRead('@convener say …\n> @teller@agents.test')).toEqual([['convener', 0]])
  })

  test('wakes at most five agents by one message', async () => {
    const ann = await gateway.logIn('Ann')
    const countBefore = (await gateway.messages()).length
    await ann.sayInRoom('@convener say @one @two @three @four @five @six @seven @eight')
    await gateway.connector.idle()
    expect((await gateway.messages()).length - countBefore).toBe(1)
    expect((await ann.entries()).filter(({ kind }) => kind === 'agent failed')).toHaveLength(5)
  })
})

describe('a requirement of an agent', () => {
  test('accepts one decision, only from its recipient and only in their chat room (MN-7.2)', async () => {
    const ann = await gateway.logIn('Ann')
    const bob = await gateway.logIn('Bob')
    const entries = await bob.watch()
    await ann.sayInRoom('@clerk order')
    await gateway.connector.idle()
    const entry = (await ann.entries()).at(-1)
    expect(entry?.html).toContain('May I hand it on to the baker?')
    expect(entry?.html).not.toContain('/actions/')
    const requirement = requirementIn(entry?.html ?? '') ?? ''
    const requirementEntry = await awaitEntry(
      entries,
      ({ id, html }) => id === entry?.id && html.includes('requirement'),
    )
    expect(requirementEntry.html).toContain('Asked of <bdi>Ann</bdi>')
    expect([requirementIn(requirementEntry.html), requirementIn(await bob.page())]).toEqual([undefined, undefined])
    await entries.return()
    await ann.postForm('/rooms', { csrf: await ann.formToken(), name: 'cellar' })
    expect(await bob.press(requirement)).toBe(403)
    expect(await ann.press(requirement, 'grant', 'cellar')).toBe(404)
    expect(await ann.press(requirement, 'perhaps')).toBe(400)
    expect(
      (
        await Promise.all([ann.press(requirement), ann.press(requirement), ann.press(requirement, 'decline')])
      ).toSorted(),
    ).toEqual([303, 404, 404])
    await gateway.connector.idle()
    expect((await ann.answers()).filter(answer => answer.includes('Then '))).toHaveLength(1)
    expect((await ann.page()).includes('Agreed.') || (await ann.page()).includes('Not agreed.')).toBe(true)
    expect(await ann.press(requirement)).toBe(404)
  })

  test('tells the agent when the person declines (MN-7.2)', async () => {
    const ann = await gateway.logIn('Ann')
    await ann.sayInRoom('@clerk order')
    await gateway.connector.idle()
    expect(await ann.press(requirementIn((await ann.entries()).at(-1)?.html ?? '') ?? '', 'decline')).toBe(303)
    await gateway.connector.idle()
    expect((await ann.answers()).at(-1)).toBe('@clerk@agents.test: Then I leave it.')
    const [record] = await gateway.messages()
    expect(record?.message.policy_resolution).toMatchObject({ outcome: 'declined', kind: 'consent_required' })
  })

  test('shows the payment link only to the payer, and announces the payment to the room (MN-11)', async () => {
    const ann = await gateway.logIn('Ann')
    const bob = await gateway.logIn('Bob')
    await ann.sayInRoom('@clerk pay')
    await gateway.connector.idle()
    const query = (await ann.entries()).at(-1)?.html ?? ''
    expect(query).toContain('<strong>4.50 EUR</strong>')
    const [, path = ''] = /href="http:\/\/127\.0\.0\.1:\d+(\/actions\/[\w-]+)"/.exec(query) ?? []
    expect((await bob.page()).includes(path)).toBe(false)
    expect(await ann.press(requirementIn(query) ?? '')).toBe(403)
    const entries = await bob.watch()
    const paidResponse = await fetch(gateway.gatewayUrl + path, {
      method: 'POST',
      body: new URLSearchParams({ decision: 'pay_test' }),
    })
    expect(paidResponse.ok).toBe(true)
    const answer = await awaitEntry(entries, ({ text }) => text === 'Then it is done.')
    expect(answer.by).toBe('@clerk@agents.test')
    await entries.return()
    expect((await ann.entries()).at(-2)?.html).toContain('This is over.')
  })

  test('appears as plain words if it is a refusal (MN-11)', async () => {
    const ann = await gateway.logIn('Ann')
    await ann.sayInRoom('@clerk secret')
    await gateway.connector.idle()
    await ann.sayInRoom('@asker dance')
    await gateway.connector.idle()
    const [refusedEntry, withHtml] = (await ann.entries()).filter(({ kind }) => kind === 'agent said').slice(-2)
    expect(refusedEntry?.html).toContain(
      'data-kind="forbidden"><blockquote dir="auto">That I tell nobody.</blockquote>',
    )
    expect(withHtml?.html).toContain(
      'data-kind="forbidden"><blockquote dir="auto">Dance &lt;b&gt;first&lt;/b&gt;.</blockquote>',
    )
    for (const entry of [refusedEntry, withHtml]) expect(entry?.html).not.toMatch(/<form|<a /)
  })

  test('stays open for another decision when the first one did not arrive (MN-7.2)', async () => {
    const ann = await gateway.logIn('Ann')
    await ann.sayInRoom('@clerk order')
    await gateway.connector.idle()
    const { id, html = '' } = (await ann.entries()).at(-1) ?? {}
    const requirement = requirementIn(html) ?? ''
    await gateway.stopGateway()
    expect(await ann.press(requirement)).toBe(303)
    await gateway.connector.idle()
    const open = (await ann.entries()).find(entry => entry.id === id)
    expect(requirementIn(open?.html ?? '')).toBe(requirement)
    await gateway.startGateway()
    expect(await ann.press(requirement)).toBe(303)
    await gateway.connector.idle()
    expect((await ann.answers()).at(-1)).toBe('@clerk@agents.test: Then it is done.')
  })

  test('ignores a callback that nobody expects', async () => {
    const ann = await gateway.logIn('Ann')
    const entriesBefore = await ann.entries()
    const response = await ann.postForm('/callback', { task: 'x' }, { 'x-a2a-notification-token': 'guessed' })
    expect(response.status).toBe(202)
    expect(await ann.entries()).toEqual(entriesBefore)
  })
})

describe('a gateway with limits for each person', () => {
  test('refuses messages of one member without refusing those of another', async () => {
    const limited = await openConnectorGateway({
      credentials: true,
      limits: { ...defaultLimits, loginsPerMinute: 100 },
      gatewayLimits: { per_identity: 3 },
    })
    const [ann, bob] = [await limited.logIn('Ann'), await limited.logIn('Bob')]
    for (const word of ['one', 'two', 'three', 'four']) await ann.sayInRoom(`@teller ${word}`)
    for (const word of ['five', 'six', 'seven']) await bob.sayInRoom(`@teller ${word}`)
    await limited.connector.idle()
    const names = (await limited.messages()).map(({ message }) => message.sender.display_name).sort()
    expect(names).toEqual(['Ann', 'Ann', 'Ann', 'Bob', 'Bob', 'Bob'])
    await limited.close()
  })
})
