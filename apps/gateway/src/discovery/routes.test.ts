import type { AgentProfile, Channel, PublicProfile } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { createDiscoveryRoutes } from './routes.ts'

const iconBytes = new Uint8Array([1, 2, 3])
const mailChannel = {
  descriptor: { name: 'email' },
  discovery: {
    describeContact: (agent: string) => ({ email: `${agent}@agents.example` }),
    renderInvitation: (agent: string) => `<a href="mailto:${agent}@agents.example">mail</a>`,
    links: (agent: string) => [{ rel: 'mailto', href: `mailto:${agent}@agents.example` }],
  },
} as unknown as Channel
const fediverseChannel = {
  descriptor: { name: 'activitypub' },
  discovery: {
    isFormerAgent: async (name: string) => name === 'gone',
    links: (agent: string) => [
      { rel: 'self', type: 'application/activity+json', href: `https://agents.example/agents/${agent}` },
    ],
  },
} as unknown as Channel
const echoProfile: AgentProfile = { name: 'echo', displayName: 'Echo', description: 'Echoes', version: '1.0.0' }

function createDiscoveryApp(
  profileMembers: Partial<AgentProfile> = {},
  channels: readonly Channel[] = [mailChannel],
  publicProfile?: PublicProfile,
) {
  const echo = { ...echoProfile, ...profileMembers }
  const agents = {
    domain: 'agents.example',
    origin: 'https://agents.example',
    defaultAgent: 'echo',
    find: (name: string) => (name === 'echo' ? echo : undefined),
    findIcon: (name: string) =>
      name === 'echo' ? { bytes: iconBytes, mediaType: 'image/png', fileName: '0123.png' } : undefined,
    list: () => [echo],
  }
  const app = createDiscoveryRoutes({
    agents,
    channels: [
      {
        ...fediverseChannel,
        discovery: { ...fediverseChannel.discovery, ...(publicProfile && { readProfile: async () => publicProfile }) },
      },
      ...channels,
    ],
    extensions: [],
  })
  app.onError(error => new Response(null, { status: 'code' in error && error.code === 'no_recipient' ? 404 : 500 }))
  return app
}

test('the page of an agent shows its picture and its fields, and escapes their text', async () => {
  const fields = [
    { name: '<i>Owner', value: '<script>alert(1)</script>' },
    { name: 'Source', value: 'https://example.com/?a=1&b="2"' },
  ]
  const response = await createDiscoveryApp({ fields, iconUrl: 'https://cdn.example/a"b.png' }).request('/agents/echo')
  const page = await response.text()
  expect(page).toContain('<dt>&lt;i&gt;Owner</dt><dd>&lt;script&gt;alert(1)&lt;/script&gt;</dd>')
  const href = 'https://example.com/?a=1&amp;b=&quot;2&quot;'
  expect(page).toContain(`<dt>Source</dt><dd><a href="${href}" rel="me nofollow noopener">${href}</a></dd>`)
  expect(page).toContain('<img src="https://cdn.example/a&quot;b.png"')
  const contentSecurityPolicy = response.headers.get('content-security-policy')
  expect(contentSecurityPolicy).toMatch(
    /^default-src 'none'; script-src 'none'; style-src 'sha256-[^']+'; img-src 'self' https:\/\/cdn\.example; /,
  )
})

test('the page of an agent without a picture loads no picture', async () => {
  const response = await createDiscoveryApp().request('/agents/echo')
  expect(response.headers.get('content-security-policy')).toContain("; img-src 'self'; ")
  expect(await response.text()).not.toMatch(/<img|<dl>/)
})

test('the page shows what the agent does in public', async () => {
  const profile = {
    bio: '<p>Echoes</p>',
    followers: 1,
    follows: 'manual',
    posts: ['<article>first</article>'],
  } as const
  const feed = 'https://agents.example/agents/echo/feed.atom'
  const page = await (await createDiscoveryApp({}, [mailChannel], { ...profile, feed }).request('/agents/echo')).text()
  expect(page).toContain('1 follower<')
  expect(page).toContain('<article>first</article>')
  expect(page).toContain(`<link rel="alternate" type="application/atom+xml" title="Public posts" href="${feed}">`)
  expect(page).toContain(
    '<link rel="alternate" type="application/activity+json" href="https://agents.example/agents/echo">',
  )
  expect(page).toContain('<link rel="icon" href="/favicon.svg">')
  const icon = await createDiscoveryApp().request('/favicon.svg')
  expect(icon.headers.get('content-type')).toBe('image/svg+xml')
})

test('the page excludes search engines unless the agent allows them', async () => {
  const noindex = '<meta name="robots" content="noindex">'
  expect(await (await createDiscoveryApp().request('/agents/echo')).text()).toContain(noindex)
  expect(await (await createDiscoveryApp({ isIndexable: true }).request('/agents/echo')).text()).not.toContain(noindex)
})

test('the gateway serves a picture only under its own name, with its real type', async () => {
  const app = createDiscoveryApp()
  const response = await app.request('/agents/echo/icon/0123.png')
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(iconBytes)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=31536000, immutable',
  })
  for (const path of ['/agents/echo/icon/4567.png', '/agents/nobody/icon/0123.png', '/agents/nobody/icon/undefined']) {
    expect((await app.request(path)).status).toBe(404)
  }
})

test('the page of a removed agent answers 410', async () => {
  expect((await createDiscoveryApp().request('/agents/Gone')).status).toBe(410)
  expect((await createDiscoveryApp().request('/agents/nobody')).status).toBe(404)
})

test.each([[true], [false]])(
  'discovery lists an email address only if the gateway receives mail: %s (MN-1.4)',
  async receivesMail => {
    const app = createDiscoveryApp({}, receivesMail ? [mailChannel] : [{ ...mailChannel, discovery: undefined }])
    for (const path of ['/.well-known/webfinger?resource=acct:echo@agents.example', '/agents/echo']) {
      expect((await (await app.request(path)).text()).includes('mailto:')).toBe(receivesMail)
    }
    const card = (await (await app.request('/.well-known/agent-card/echo')).json()) as { mentionable: object }
    expect(card.mentionable).toMatchObject({ supported_inbound: ['activitypub', ...(receivesMail ? ['email'] : [])] })
    const directory = await (await app.request('/.well-known/mentionable-agents.json')).text()
    expect(directory.includes('"email":"echo@agents.example"')).toBe(receivesMail)
  },
)

test('the name of an agent cannot end the data block in the page (MN-1.5)', async () => {
  const page = await (
    await createDiscoveryApp({ displayName: '</script><script>alert(1)</script>' }).request('/agents/echo')
  ).text()
  const [, block = ''] = /<script type="application\/ld\+json">(.*)\n/.exec(page) ?? []
  expect(block.match(/<\/script>/g)).toHaveLength(1)
  expect(JSON.parse(block.replace('</script>', ''))).toMatchObject({ '@type': 'Organization' })
})
