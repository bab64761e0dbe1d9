import { expect, test } from 'vitest'
import { listSecretTexts, maskSettings } from './secret-settings.ts'

const mask = (tree: object, references?: readonly (readonly string[])[]) => maskSettings({ tree, references })

test('maskSettings() hides secrets by the names of their keys, and in URLs', () => {
  const config = {
    operator_token: 'x',
    store: 'postgres://me:p%2Fss@db.example:5432/house',
    network: { dns: ['127.0.0.1:53'], origin: 'https://agents.example/@me:you@there' },
  }
  expect(mask(config)).toEqual({
    ...config,
    operator_token: '(set)',
    store: 'postgres://me:(set)@db.example:5432/house',
  })
})

test.each([
  ['postgres://me:p/s@s@db.example/house', 'postgres://me:(set)@db.example/house'],
  ['postgresql://me@db.example/house', 'postgresql://me@db.example/house'],
  ['postgres://db.example/house?user=me&password=p&sslmode=require', 'postgres://db.example/house?(set)'],
  ['https://token@hooks.example/x', 'https://(set)@hooks.example/x'],
  ['https://me:pass@hooks.example/x', 'https://(set)@hooks.example/x'],
  ['https://hooks.example/x?api_key=k&size=2&X-Amz-Signature=s#top', 'https://hooks.example/x?(set)#top'],
  ['SMTPS://me:pass@mail.example', 'SMTPS://(set)@mail.example'],
  ['https://agents.example/@me', 'https://agents.example/@me'],
  ['no URL?token=x', 'no URL?token=x'],
])('maskSettings() hides the secrets of the URL %s', (url, maskedUrl) => {
  expect(mask({ url, urls: [url] })).toEqual({ url: maskedUrl, urls: [maskedUrl] })
})

test('maskSettings() hides lists under a secret’s name, and all values of headers and forwarded properties', () => {
  const forwarded_props = { tenant: 'a', nested: [{ mode: 'b' }], count: 3 }
  expect(
    mask({
      api_keys: ['a', 'b'],
      headers: { Authorization: 'Bearer x', accept: 'y' },
      agents: { x: { forwarded_props } },
    }),
  ).toEqual({
    api_keys: ['(set)', '(set)'],
    headers: { Authorization: '(set)', accept: '(set)' },
    agents: { x: { forwarded_props: { tenant: '(set)', nested: [{ mode: '(set)' }], count: 3 } } },
  })
})

test('an MCP server shows only its command and first argument', () => {
  const server = { command: 'npx', args: ['@tools/files', '--token', 'x'], env: { PORT: 'y' }, only: ['read'] }
  const maskedServer = { ...server, args: ['@tools/files', '(set)', '(set)'], env: { PORT: '(set)' } }
  expect(mask({ agents: { a: { mcp: [server] }, b: { members: { c: { mcp: [server] } } } } })).toEqual({
    agents: { a: { mcp: [maskedServer] }, b: { members: { c: { mcp: [maskedServer] } } } },
  })
})

test('an MCP server shows the package after "npx -y", and no value of its first option', () => {
  const maskArgs = (args: readonly string[]) => mask({ agents: { a: { mcp: [{ command: 'npx', args }] } } })
  const createConfig = (args: readonly string[]) => ({ agents: { a: { mcp: [{ command: 'npx', args }] } } })
  expect(maskArgs(['-y', '@tools/files', 'x'])).toEqual(createConfig(['-y', '@tools/files', '(set)']))
  expect(maskArgs(['--pass=sunshineprincess'])).toEqual(createConfig(['(set)']))
})

test('maskSettings() hides private members of a JWK, and shows its public members', () => {
  const jwk = { kty: 'EC', crv: 'P-256', x: 'px', y: 'py', d: 'secret', kid: 'one' }
  expect(mask({ payments: { jwk } })).toEqual({ payments: { jwk: { ...jwk, d: '(set)' } } })
})

test('maskSettings() hides every value that comes from a variable or a file, under any name', () => {
  const tree = { origin: 'https://agents.example', agents: { a: { url: 'https://x.test/T1/B2' } }, list: ['a', 'b'] }
  const references = [['origin'], ['agents', 'a', 'url'], ['list', '1']]
  expect(mask(tree, references)).toEqual({
    origin: '(set)',
    agents: { a: { url: '(set)' } },
    list: ['a', '(set)'],
  })
})

test('listSecretTexts() lists secrets, and leaves out public values', () => {
  const tree = {
    origin: 'https://agents.example',
    operator_token: 'token-of-the-operator',
    store: 'postgres://me:pass-of-me@db.example/house?sslmode=require',
    agents: { a: { name: 'Desk', model: 'large-model', api_key: 'key-of-the-model', forwarded_props: { mode: 'x' } } },
  }
  const references = [['origin'], ['agents', 'a', 'name'], ['agents', 'a', 'model']]
  expect(listSecretTexts({ tree, references })).toEqual([
    'token-of-the-operator',
    'pass-of-me',
    'large-model',
    'key-of-the-model',
  ])
})

const randomToken = 'f83OJ3D2xF1Bg8vub9tL'

test('listSecretTexts() lists values that look like secrets in headers, variables, arguments and references', () => {
  const server = {
    command: 'npx',
    args: ['files', '--token', 'spoken-word', randomToken.slice(1)],
    env: { ID: randomToken.slice(2) },
  }
  const tree = {
    agents: {
      a: {
        headers: { id: randomToken, accept: 'application/json' },
        mcp: [server],
        forwarded_props: { a: randomToken, b: `${randomToken}z`, key: `${randomToken}y` },
      },
    },
  }
  const references = [['agents', 'a', 'forwarded_props', 'b']]
  expect(listSecretTexts({ tree, references })).toEqual([
    randomToken,
    'spoken-word',
    randomToken.slice(1),
    randomToken.slice(2),
    `${randomToken}z`,
    `${randomToken}y`,
  ])
})

test('listSecretTexts() lists whole values of variables and files, and of arguments and variables of MCP servers', () => {
  const server = {
    command: 'npx',
    args: ['-y', '@tools/files', '--pass', 'sunshineprincess', '-p=hunter two three', '--read-only'],
    env: { LICENSE: 'correct horse battery staple', PIN: '4711', LOG_LEVEL: 'info', name: 'wintersleep' },
  }
  const tree = { agents: { a: { mcp: [server], headers: { 'x-site': 'summerholiday' } } }, email: { user: 'mailer' } }
  const references = [
    ['agents', 'a', 'headers', 'x-site'],
    ['email', 'user'],
  ]
  expect(listSecretTexts({ tree, references })).toEqual([
    'sunshineprincess',
    'hunter two three',
    'correct horse battery staple',
    '4711',
    'wintersleep',
    'summerholiday',
    'mailer',
  ])
})

test('listSecretTexts() leaves out harmless values of databases, models, headers, variables and addresses', () => {
  const tree = {
    store: 'postgres://db.example/postern',
    agents: {
      a: { model: 'gpt-4o-mini', headers: { accept: 'application/json' }, mcp: [{ env: { NODE_ENV: 'production' } }] },
      b: { url: 'https://x.test/v1/chat' },
      c: { url: 'https://x.test/v2/chat?format=activity&version=2026-01-01' },
    },
  }
  const references = [['store'], ['agents', 'b', 'url']]
  expect(listSecretTexts({ tree, references })).toEqual(['postgres://db.example/postern', 'https://x.test/v1/chat'])
})

test('listSecretTexts() walks settings once that agents share, and each list of secrets stays complete', () => {
  let reads = 0
  const settings = {
    use: 'webhook',
    get secret() {
      reads += 1
      return 'a-secret-of-many-agents'
    },
  }
  const agents = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`agent${index}`, settings]))
  const other = { use: 'webhook', secret: 'a-secret-of-one-agent' }
  expect(listSecretTexts({ tree: { agents: { ...agents, other } } })).toEqual([settings.secret, other.secret])
  expect(reads).toBeLessThanOrEqual(3)
})

test('maskSettings() copies no agent that has no secret', () => {
  const tree = {
    agents: { plain: { use: 'builtin:echo', fields: [{ name: 'a' }] }, secret: { use: 'webhook', secret: 'x' } },
  }
  const maskedTree = mask(tree) as typeof tree
  expect(maskedTree.agents.secret).toEqual({ use: 'webhook', secret: '(set)' })
  expect(maskedTree.agents.plain).toBe(tree.agents.plain)
})
