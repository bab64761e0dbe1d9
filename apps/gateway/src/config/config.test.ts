import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { parseEffectiveConfig } from '../dev/dev-configs.ts'
import { applyEnvironment, listVariables } from './environment.ts'
import { findUnsafeSettings } from './production.ts'
import { parseConfig, readConfigFile } from './read-config.ts'
import { findHandleHost } from './schema.ts'
import { resolveSecrets } from './secrets.ts'

const minimalConfig = {
  origin: 'https://agents.example',
  operator_token: 'o'.repeat(24),
  agents: { echo: { use: 'builtin:echo' } },
}

const createSwarm = (desk: unknown) => ({ use: 'swarm', default_agent: 'desk', members: { desk } })

function listFaults(tree: unknown): string[] {
  try {
    parseConfig(tree)
  } catch (error) {
    return (error as AggregateError).errors.map(fault => (fault as ConfigError).message)
  }
  throw new Error('the configuration was accepted')
}

describe('parseConfig()', () => {
  test('fills in every default from the smallest file', () => {
    const config = parseConfig(minimalConfig)
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8787 })
    expect(config.dev).toBe(false)
    expect(config.network).toEqual({ allow_private: [], allow_private_push: [], loopback: {} })
  })

  test.each([
    [
      'a missing origin',
      { ...minimalConfig, origin: undefined },
      /^origin: is missing\. Give a value of type string\.$/,
    ],
    [
      'an origin without https',
      { ...minimalConfig, origin: 'http://agents.example' },
      /^origin: must be an https origin/,
    ],
    [
      'an origin with a path',
      { ...minimalConfig, origin: 'https://agents.example/x' },
      /^origin: must be an https origin/,
    ],
    ['an origin with one label', { ...minimalConfig, origin: 'https://localhost' }, /^origin: must be an https origin/],
    ['a misspelt key', { ...minimalConfig, orign: 'x' }, /^orign: is not a known key\. Did you mean "origin"\?$/],
    [
      'a misspelt key inside',
      { ...minimalConfig, listen: { prot: 1 } },
      /^listen\.prot: is not a known key\. Did you mean "port"\?$/,
    ],
    [
      'a key like no other',
      { ...minimalConfig, colour: 'red' },
      /^colour: is not a known key\. Remove it, or correct its spelling\.$/,
    ],
    [
      'a misspelt key of an agent',
      { ...minimalConfig, agents: { desk: { use: 'openai', base_url: 'https://model.example/v1', modle: 'm' } } },
      /^agents\.desk\.modle: is not a known key\. Did you mean "model"\?$/m,
    ],
    [
      'a handle host with a scheme',
      { ...minimalConfig, handle_host: 'https://example.com' },
      /^handle_host: must be a domain name/,
    ],
    [
      'a handle host with a port',
      { ...minimalConfig, handle_host: 'a.example:8443' },
      /^handle_host: must be a domain name/,
    ],
    [
      'a handle host of one label',
      { ...minimalConfig, handle_host: 'localhost' },
      /^handle_host: must be a domain name/,
    ],
    [
      'a port out of range',
      { ...minimalConfig, listen: { port: 70_000 } },
      /^listen\.port: .*Make it smaller or shorter\.$/,
    ],
    [
      'a swarm member of a recognizable kind with a fault',
      { ...minimalConfig, agents: { a: createSwarm({ operator: true, timeout: '1h' }) } },
      /^agents\.a\.members\.desk\.timeout: must be a time such as "60s"/,
    ],
    [
      'a swarm member of no recognizable kind',
      { ...minimalConfig, agents: { a: createSwarm(7) } },
      /^agents\.a\.members\.desk: has none of the allowed forms/,
    ],
    ['an empty operator token', { ...minimalConfig, operator_token: '' }, /^operator_token: must not be empty/],
    [
      'a private origin that is not an origin',
      { ...minimalConfig, network: { allow_private: ['10.0.0.1'] } },
      /^network\.allow_private\.0: must be an origin/,
    ],
    [
      'a DNS server that is not an address',
      { ...minimalConfig, network: { dns: ['resolver.example'] } },
      /^network\.dns\.0: must be "address:port"/,
    ],
    ['no agents', { ...minimalConfig, agents: {} }, /^agents: needs at least one agent/],
  ])('names the key and the fix for %s', (_, tree, expected) => {
    expect(listFaults(tree).join('\n')).toMatch(expected)
  })
})

test('findHandleHost() returns the host of the origin, unless handles have a domain of their own', () => {
  expect(findHandleHost(parseConfig({ ...minimalConfig, origin: 'https://agents.example:8443' }))).toBe(
    'agents.example',
  )
  const tree = applyEnvironment(minimalConfig, { POSTERN_HANDLE_HOST: 'BÜRO.example.' })
  expect(findHandleHost(parseConfig(tree))).toBe('xn--bro-hoa.example')
})

describe('a configuration in dev mode', () => {
  test.each([
    ['0.0.0.0', ['dev']],
    ['::', ['dev']],
    ['192.168.1.4', ['dev']],
    ['127.0.0.1', []],
    ['localhost', []],
    ['::1', []],
  ])('fails at start when it listens on %s: %j', (host, keys) => {
    const config = parseConfig({ ...minimalConfig, dev: true, listen: { host } })
    expect(findUnsafeSettings(config).map(({ key }) => key)).toEqual(keys)
  })
})

describe('invalid secret references', () => {
  const sources = { baseDir: '/', environment: { NAME: 'x' } }
  const nest = (depth: number) => {
    let tree: unknown = { env: 'NAME' }
    for (let level = 0; level < depth; level += 1) tree = level % 2 ? { a: tree } : [tree]
    return { agents: tree }
  }

  test('are a ConfigError at 10,000 levels, but not at 40', () => {
    const resolveNested = () => resolveSecrets(nest(10_000), sources)
    expect(resolveNested).toThrow(ConfigError)
    expect(resolveNested).toThrow(/^agents\.a\.0: is nested deeper than 64 levels/)
    expect(resolveSecrets(nest(40), sources).missingSettings).toEqual([])
  })

  test('report a variable as missing when its name is a member of every object', () => {
    const { missingSettings } = resolveSecrets({ operator_token: { env: 'toString' } }, sources)
    expect(missingSettings.map(({ error }) => error.message)).toEqual([expect.stringContaining('toString is not set')])
  })

  test.each<[secret: object]>([[{ env: { a: 1 } }], [{ file: ['x'] }], [{ constructor: 'x' }], [{ toString: 'x' }]])(
    'like %j are a ConfigError',
    secret => {
      const { value } = resolveSecrets({ ...minimalConfig, operator_token: secret }, sources)
      expect(listFaults(value)).toEqual([expect.stringMatching(/^operator_token: /)])
    },
  )
})

describe('roles', () => {
  const missingRoleFault =
    'roles: leaves work to other gateways, but no other gateway can share the embedded store. ' +
    'Name both roles or none, or set store to the postgres:// address that the others have.'

  test.each([[['ingress']], [['worker', 'worker']]])(
    '%j leave work undone with the embedded store, in dev mode too',
    roles => {
      for (const dev of [false, true]) expect(listFaults({ ...minimalConfig, roles, dev })).toEqual([missingRoleFault])
    },
  )

  test.each([
    ['sqlite', ['worker', 'ingress']],
    ['postgres://user@db.example/postern', ['ingress']],
    ['postgres://user@db.example/postern', ['worker']],
  ])('a gateway with the store %s may have the roles %j', (store, roles) => {
    expect(parseConfig({ ...minimalConfig, store, roles }).roles).toEqual(roles)
  })
})

describe('findUnsafeSettings()', () => {
  test.each([
    ['loopback', { network: { loopback: { 'mastodon.test': 9001 } } }, 'network.loopback'],
    [
      'a private origin on this machine',
      { network: { allow_private: ['http://127.0.0.1:3000'] } },
      'network.allow_private',
    ],
    [
      'a private origin on this machine by name',
      { network: { allow_private: ['http://localhost:3000'] } },
      'network.allow_private',
    ],
    [
      'a private origin on this machine by IPv6',
      { network: { allow_private: ['http://[::1]:3000'] } },
      'network.allow_private',
    ],
    [
      'a receiver of push on this machine',
      { network: { allow_private_push: ['http://127.0.0.1:3000'] } },
      'network.allow_private_push',
    ],
    ["payments with nobody's money", { payments: { use: 'builtin:test' } }, 'payments.use'],
    ['no operator token', { operator_token: undefined }, 'operator_token'],
    ['a short operator token', { operator_token: 'short' }, 'operator_token'],
    ['a short intake secret', { email: { intake: { secret: 'short' } } }, 'email.intake.secret'],
    [
      'a short password of a webhook',
      { email: { providers: { postmark: { user: 'u', password: 'short' } } } },
      'email.providers',
    ],
  ])('refuses %s outside of dev mode, and allows it in dev mode', (_, change, key) => {
    expect(findUnsafeSettings(parseConfig({ ...minimalConfig, ...change })).map(fault => fault.key)).toEqual([key])
    expect(findUnsafeSettings(parseConfig({ ...minimalConfig, ...change, dev: true }))).toEqual([])
  })

  test.each(['', ' ', 'whsec_', 'whsec_%%%'])('refuses the secret %j of a webhook, under any key', secret => {
    const faults = (change: object) => listFaults({ ...minimalConfig, ...change, dev: true }).join('\n')
    const fix = 'must be some text, or "whsec_" followed by base64'
    expect(faults({ email: { intake: { secret } } })).toContain(`email.intake.secret: ${fix}`)
    const providers = { forwardemail: { secret }, postmark: { user: 'u', password: secret } }
    if (secret.trim() === '')
      for (const [name, provider] of Object.entries(providers))
        expect(faults({ email: { providers: { [name]: provider } } })).toContain('must not be empty')
  })

  test('accepts a private network of the operator that is not this machine', () => {
    expect(
      findUnsafeSettings(parseConfig({ ...minimalConfig, network: { allow_private: ['http://10.0.0.5:8080'] } })),
    ).toEqual([])
  })
})

describe('applyEnvironment()', () => {
  test('has one variable for each plain value of the schema', () => {
    const names = [...listVariables().keys()]
    expect(names).toEqual(
      expect.arrayContaining([
        'POSTERN_ORIGIN',
        'POSTERN_LISTEN_PORT',
        'POSTERN_OPERATOR_TOKEN',
        'POSTERN_DEFAULT_AGENT',
        'POSTERN_EMAIL_INTAKE_SECRET',
      ]),
    )
  })

  test('sets typed values over the values of the file without changing the file', () => {
    const file = { listen: { host: '127.0.0.1', port: 1 } }
    const config = applyEnvironment(file, { POSTERN_LISTEN_PORT: '9000', POSTERN_DEV: 'true', HOME: '/x' })
    expect(config).toEqual({ listen: { host: '127.0.0.1', port: 9000 }, dev: true })
    expect(file.listen.port).toBe(1)
  })

  test('keeps a list where the schema wants an object, so that the schema refuses it', () => {
    const tree = applyEnvironment({ ...minimalConfig, listen: ['80'] }, { POSTERN_LISTEN_PORT: '9000' })
    expect(() => parseConfig(tree)).toThrow(
      expect.objectContaining({ errors: [expect.objectContaining({ key: 'listen' })] }),
    )
  })

  test('splits a list of texts at its commas', () => {
    const tree = applyEnvironment({ roles: ['ingress'] }, { POSTERN_ROLES: 'worker, ingress' })
    expect(tree).toEqual({ roles: ['worker', 'ingress'] })
    expect(() => parseConfig({ ...minimalConfig, ...applyEnvironment({}, { POSTERN_ROLES: 'workr' }) })).toThrow()
  })

  test.each([
    [
      'an unknown variable',
      { POSTERN_LISTEN_PROT: '1' },
      'POSTERN_LISTEN_PROT: is not a known variable. Did you mean POSTERN_LISTEN_PORT?',
    ],
    [
      'a port that is not a number',
      { POSTERN_LISTEN_PORT: 'many' },
      'POSTERN_LISTEN_PORT: "many" is not of type integer. Give a value of type integer.',
    ],
    [
      'a switch that is neither true nor false',
      { POSTERN_DEV: 'yes' },
      'POSTERN_DEV: "yes" is not of type boolean. Give a value of type boolean.',
    ],
  ])('refuses %s', (_, environment, message) => {
    expect(() => applyEnvironment({}, environment)).toThrow(message)
  })
})

describe('resolveSecrets()', () => {
  test('copies no agent without references', () => {
    const tree = {
      agents: {
        plain: { use: 'builtin:echo', receives: ['message'] },
        secret: { use: 'webhook', secret: { env: 'TOKEN' } },
      },
    }
    const { value } = resolveSecrets(tree, { baseDir: '/', environment: { TOKEN: 'text' } })
    expect(value).toEqual({ agents: { plain: tree.agents.plain, secret: { use: 'webhook', secret: 'text' } } })
    expect((value as typeof tree).agents.plain).toBe(tree.agents.plain)
    expect(
      resolveSecrets({ agents: { echo: { use: 'builtin:echo', name: undefined } } }, { baseDir: '/', environment: {} })
        .value,
    ).toStrictEqual({ agents: { echo: { use: 'builtin:echo' } } })
  })

  const baseDir = mkdtempSync(join(tmpdir(), 'postern-secrets-'))
  writeFileSync(join(baseDir, 'token'), 'from a file\n')

  test('reads values from the environment and from files, at any depth', () => {
    const tree = { operator_token: { env: 'TOKEN' }, agents: { py: { secret: { file: 'token' }, name: 'Py' } } }
    const resolvedSettings = resolveSecrets(tree, { baseDir, environment: { TOKEN: 'from outside' } })
    const value = { operator_token: 'from outside', agents: { py: { secret: 'from a file', name: 'Py' } } }
    const referencePaths = [['operator_token'], ['agents', 'py', 'secret']]
    expect(resolvedSettings).toEqual({ value, missingSettings: [], variables: new Set(['TOKEN']), referencePaths })
  })

  test('names every key whose secret is missing, and omits its value', () => {
    const tree = { a: { b: { env: 'NONE' } }, c: { file: 'none' }, d: 1 }
    const { value, missingSettings } = resolveSecrets(tree, { baseDir, environment: {} })
    expect(value).toEqual({ a: {}, d: 1 })
    expect(missingSettings.map(({ error }) => error.message)).toEqual([
      'a.b: the environment variable NONE is not set. Set NONE in the environment, or in the file .env of the folder where you start Postern.',
      'c: the file "none" cannot be read. Create it, or correct its path.',
    ])
  })
})

describe('readConfigFile()', () => {
  test('accepts a variable of the gateway only if a setting or a reference in the file names it', async () => {
    const workingDir = mkdtempSync(join(tmpdir(), 'postern-named-'))
    const agents = { bot: { use: 'webhook', secret: { env: 'POSTERN_WEBHOOK_SECRET' } } }
    const environment = { POSTERN_WEBHOOK_SECRET: 'shared' }
    writeFileSync(join(workingDir, 'names.json'), JSON.stringify({ agents }))
    writeFileSync(join(workingDir, 'plain.json'), '{}')
    const { tree } = await readConfigFile({ path: 'names.json', environment, workingDir })
    expect(tree).toEqual({ agents: { bot: { use: 'webhook', secret: 'shared' } } })
    await expect(readConfigFile({ path: 'plain.json', environment, workingDir })).rejects.toThrow(
      'POSTERN_WEBHOOK_SECRET: is not a known variable',
    )
  })

  test('reads a file that begins with a byte order mark, and refuses a list', async () => {
    const workingDir = mkdtempSync(join(tmpdir(), 'postern-marked-'))
    writeFileSync(join(workingDir, 'marked.json'), '\uFEFF{ "dev": true }')
    writeFileSync(join(workingDir, 'list.json'), '[{ "dev": true }]')
    expect((await readConfigFile({ path: 'marked.json', environment: {}, workingDir })).tree).toEqual({ dev: true })
    await expect(readConfigFile({ path: 'list.json', environment: {}, workingDir })).rejects.toThrow(
      'configuration: is not an object',
    )
  })

  const workingDir = mkdtempSync(join(tmpdir(), 'postern-config-'))

  test('reads TypeScript, and resolves relative paths from its folder', async () => {
    writeFileSync(join(workingDir, 'mine.ts'), 'const port: number = 9100\nexport default { listen: { port } }\n')
    const file = await readConfigFile({ path: 'mine.ts', environment: {}, workingDir })
    const path = join(workingDir, 'mine.ts')
    expect(file).toEqual({
      tree: { listen: { port: 9100 } },
      missingSettings: [],
      references: [],
      baseDir: workingDir,
      path,
    })
  })

  test('returns an empty configuration without a file', async () => {
    const emptyFolder = mkdtempSync(join(tmpdir(), 'postern-empty-'))
    expect(await readConfigFile({ environment: {}, workingDir: emptyFolder })).toEqual({
      tree: {},
      missingSettings: [],
      references: [],
      baseDir: emptyFolder,
      path: undefined,
    })
  })

  test('ignores comments in a JSON file, but not inside strings', async () => {
    const text = '// gateway\n{ "origin": "https://a.example/*x*/", /* two\nlines */ "data": "a\\"//b" } // end'
    writeFileSync(join(workingDir, 'commented.json'), text)
    const { tree } = await readConfigFile({ path: 'commented.json', environment: {}, workingDir })
    expect(tree).toEqual({ origin: 'https://a.example/*x*/', data: 'a"//b' })
  })

  test('refuses a named file that is missing or unreadable', async () => {
    await expect(readConfigFile({ path: 'no.json', environment: {}, workingDir })).rejects.toThrow(
      new ConfigError('--config', 'there is no file "no.json"', 'Correct the path.'),
    )
    writeFileSync(join(workingDir, 'bad.json'), '{')
    await expect(readConfigFile({ path: 'bad.json', environment: {}, workingDir })).rejects.toThrow(
      /^configuration: the file cannot be read/,
    )
  })
})

describe('parseEffectiveConfig()', () => {
  const parseEffective = (tree: Record<string, unknown>) =>
    parseEffectiveConfig({ tree, missingSettings: [], path: '/postern.config.json', baseDir: '/' })

  test('returns a production file unchanged', () => {
    expect(parseEffective(minimalConfig)).toMatchObject({ dev: false, origin: minimalConfig.origin })
  })

  test('fills in the values of dev mode, and keeps the token of the file', () => {
    const { operator_token } = minimalConfig
    expect(parseEffective({ operator_token })).toMatchObject({
      dev: true,
      origin: 'https://agents.test',
      operator_token,
    })
  })
})
