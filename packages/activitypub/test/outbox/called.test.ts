import { plainTextOf } from '@postern/message'
import type { Agent, DeliveryRecord, RunningAgent, Turn } from '@postern/pipeline'
import { afterEach, expect, test, vi } from 'vitest'
import { origin } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The names and tags in an agent's text become mentions and hashtags.

let stage: Stage
let bob: PeerAccount

async function openPartialAnswer(
  handle: Agent['handle'],
  policy: Pick<RunningAgent, 'mentions'> = { mentions: 'any' },
): Promise<void> {
  stage = await openStage({ agents: { echo: { handle } }, ...policy })
  bob = settlePerson(stage.peer, 'bob@other.test')
  const shared = ['https://good.test/inbox', 'https://other.test/inbox']
  for (const inbox of [...shared, 'https://good.test/users/alice/inbox', `${bob.id}/inbox`]) {
    stage.peer.serve(inbox, { status: 202 })
  }
  stage.gateway.work()
}

const say =
  (content: string): Agent['handle'] =>
  () => ({ parts: [{ kind: 'text', mime: 'text/markdown', content }] })

afterEach(() => stage.close())

/** Posts a note to the agent. @returns the deliveries, once all have ended */
async function ask(note: object = {}, activity: object = {}, from?: PeerAccount): Promise<readonly DeliveryRecord[]> {
  const { gateway, alice } = stage
  const author = from ?? alice
  const { length } = await gateway.store.listDeliveries({ limit: 50 })
  await postActivity(gateway, author, composeNote(author, note as never, activity as never))
  return vi.waitFor(
    async () => {
      const list = await gateway.store.listDeliveries({ limit: 50 })
      expect(list.length).toBeGreaterThan(length)
      expect(list.filter(({ state }) => state === 'queued' || state === 'later')).toEqual([])
      return list
    },
    { timeout: 30_000 },
  )
}

interface Note {
  readonly id: string
  readonly cc: readonly string[]
  readonly content: string
  readonly tag: readonly { readonly type: string; readonly href: string; readonly name: string }[]
}

function notesAt(inbox: string): readonly Note[] {
  return stage.peer.requests
    .filter(({ method, host, path }) => method === 'POST' && host + path === inbox.replace('https://', ''))
    .map(({ body }) => JSON.parse(body).object)
}

test('@user@host in a public answer becomes a notifying mention, and #tag a Hashtag link', async () => {
  await openPartialAnswer(say('Ask @Bob@other.test about #Gärten and #Bücher. `@nobody@other.test #code`'))
  expect((await ask()).map(({ state }) => state)).toEqual(['sent', 'sent'])
  const [toAlice] = notesAt('https://good.test/inbox')
  const [toBob] = notesAt(`${bob.id}/inbox`)
  expect(toBob).toEqual(toAlice)
  expect(toBob?.cc).toContain(bob.id)
  const tag = (name: string) => ({
    type: 'Hashtag',
    href: `${origin}/agents/echo/tags/${encodeURIComponent(name.toLowerCase())}`,
    name: `#${name}`,
  })
  expect(toBob?.tag).toEqual([
    { type: 'Mention', href: stage.alice.id, name: '@alice@good.test' },
    { type: 'Mention', href: bob.id, name: '@bob@other.test' },
    tag('Gärten'),
    tag('Bücher'),
  ])
  expect(toBob?.content).toContain(
    '<a href="https://other.test/@bob" class="u-url mention">@<span>bob@other.test</span></a>',
  )
  expect(toBob?.content).toContain(
    `<a href="${tag('Bücher').href}" class="mention hashtag" rel="tag">#<span>Bücher</span></a>.`,
  )
  expect(toBob?.content).toContain('<code>@nobody@other.test #code</code>')
})

const repeat: Agent['handle'] = ({ parts }) => `You said: ${plainTextOf(parts)}`

test('an agent that repeats a name from a stranger’s message mentions nobody', async () => {
  await openPartialAnswer(repeat, {})
  const content = 'say hi to @bob@other.test @guest@elsewhere.test'
  const tag = [
    { type: 'Mention', href: `${origin}/agents/echo`, name: '@echo@agents.test' },
    { type: 'Mention', href: bob.id, name: '@bob@other.test' },
  ]
  expect((await ask({ content, tag, cc: [`${origin}/agents/echo`, bob.id] })).map(({ state }) => state)).toEqual([
    'sent',
  ])
  const [note] = notesAt('https://good.test/inbox')
  expect(note?.tag.map(({ name }) => name)).toEqual(['@alice@good.test'])
  expect(note?.content).toContain('say hi to @bob@other.test @guest@elsewhere.test')
  expect(stage.peer.countOf(bob.id)).toBe(0)
})

test('a name in an answer only mentions a person of the conversation', async () => {
  await openPartialAnswer(() => 'As @bob@other.test said, and not @carol@other.test.', {})
  await ask()
  const answers = () => [...notesAt('https://good.test/inbox'), ...notesAt('https://other.test/inbox')]
  await ask({ inReplyTo: answers()[0]?.id }, {}, bob)
  await ask({ inReplyTo: answers().at(-1)?.id })
  expect(answers().map(({ tag }) => tag.map(({ name }) => name))).toEqual([
    ['@alice@good.test'],
    ['@alice@good.test', '@bob@other.test'],
    ['@bob@other.test'],
  ])
  expect(notesAt(`${bob.id}/inbox`)).toHaveLength(1)
})

test('with "named", only the member `mentions` mentions people', async () => {
  const parts = [{ kind: 'text', mime: 'text/markdown', content: 'Ask @carol@other.test.' }] as const
  await openPartialAnswer(() => ({ parts: [...parts], mentions: ['@bob@other.test'] }), { mentions: 'named' })
  expect((await ask()).map(({ to }) => to).toSorted()).toEqual(['@bob@other.test', 'https://good.test/inbox'])
  expect(notesAt(`${bob.id}/inbox`)[0]?.tag.map(({ name }) => name)).toEqual(['@alice@good.test', '@bob@other.test'])
})

test('a name without an account stays text and causes no failed delivery', async () => {
  await openPartialAnswer(say('Write @nobody@sub.evil.test or @user@example.invalid.'))
  expect((await ask()).filter(({ state }) => state !== 'sent')).toEqual([])
  const [note] = notesAt('https://good.test/inbox')
  expect(note?.content).toContain('Write @nobody@sub.evil.test or @user@example.invalid.')
  expect(note?.tag.map(({ name }) => name)).toEqual(['@alice@good.test'])
})

test('a post to a limited audience mentions no further people', async () => {
  await openPartialAnswer(say('Do not tell @bob@other.test'))
  const direct = { to: [`${origin}/agents/echo`], cc: [] }
  expect(await ask(direct, direct)).toHaveLength(1)
  expect(notesAt(`${bob.id}/inbox`)).toEqual([])
  expect(stage.peer.countOf(bob.id)).toBe(0)
})

test('names in quotations, of the agent itself or repeated names mention nobody', async () => {
  await openPartialAnswer(say('> @bob@other.test said so\n\n@echo@agents.test is me, you are @alice@good.test'))
  expect(await ask()).toHaveLength(1)
  expect(stage.peer.countOf(bob.id)).toBe(0)
  expect(notesAt('https://good.test/inbox')[0]?.tag).toHaveLength(1)
})

test('the text of an answer does not mention local agents', async () => {
  await openPartialAnswer(say('@help@agents.test: done. @other@AGENTS.test and @bob@other.test know.'))
  expect((await ask()).map(({ to }) => to)).not.toContain('@help@agents.test')
  expect(notesAt('https://good.test/inbox')[0]?.tag.map(({ name }) => name)).toEqual([
    '@alice@good.test',
    '@bob@other.test',
  ])
})

/** Returns the addressees of an answer. */
function addressed(content: string, mentions: readonly string[], chain?: object): readonly string[] {
  const turn = {
    agent: 'echo',
    content: {
      recipient: '@echo@agents.test',
      sender: { address: '@alice@good.test' },
      recipient_capabilities: { agent_chain: chain },
    },
    target: { actor: 'a', object: 'b', visibility: 'public' },
  }
  const response = { id: 'r', parts: [{ kind: 'text', mime: 'text/plain', content }], mentions }
  const { deliveries } = stage.gateway.channel.address({ turn: turn as unknown as Turn, response: response as never })
  return deliveries.map(({ to }) => to)
}

test('one answer mentions at most as many people as the loop guard allows, and nobody on the last hop', async () => {
  await openPartialAnswer(say('nothing'))
  const names = Array.from({ length: 40 }, (_, at) => `@u${at}@other.test`)
  expect(addressed(names.join(' '), [])).toEqual(names.slice(0, 10))
  expect(addressed(names.join(' '), ['@chosen@other.test'])).toEqual(['@chosen@other.test', ...names.slice(0, 9)])
  expect(addressed(names.join(' '), [], { hop: 3, max_hops: 3, is_final: true })).toEqual([])
  expect(addressed(names.join(' '), [], { hop: 1, max_hops: 3, is_final: false })).toHaveLength(10)
})

test('a hashtag links to a page with the agent’s posts of that tag', async () => {
  await openPartialAnswer(say('About #Bücher'))
  await ask()
  const [note] = notesAt('https://good.test/inbox')
  const [, tag] = note?.tag ?? []
  const open = (url: string) => stage.gateway.app.request(url.replace(origin, ''), { headers: { accept: 'text/html' } })
  const page = await open(tag?.href ?? '')
  expect(page.status).toBe(200)
  expect(await page.text()).toContain(`href="${note?.id}"`)
  const other = await open(`${origin}/agents/echo/tags/${encodeURIComponent('<script>')}`)
  expect(other.status).toBe(404)
  expect(await other.text()).not.toContain('<script>')
})

test('names in the later posts of a long answer become links there', async () => {
  await openPartialAnswer(say(`${'One word after another. '.repeat(25)}\n\nAsk @bob@other.test #later`))
  await ask()
  const [first, last] = notesAt(`${bob.id}/inbox`)
  expect(first?.content).not.toContain('bob')
  expect(last?.content).toContain('<a href="https://other.test/@bob"')
  expect(last?.tag.map(({ name }) => name)).toContain('#later')
  expect(first?.tag.map(({ name }) => name)).not.toContain('#later')
})
