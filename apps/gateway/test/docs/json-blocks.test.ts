import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig, readConfigFile } from '../../src/config/read-config.ts'
import { fillConfig } from '../../src/dev/dev-configs.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { findBlock } from './blocks.ts'
import { configBlocks, listGuideConfigs, listUntested, wireBlocks } from './cases.ts'
import { createDocsFolder } from './folder.ts'

it('every code block of the README and the docs has a test that runs it', () => {
  expect(listUntested().map(({ page, line }) => `${page}:${line}`)).toEqual([])
})

it('the test finds a block in an unknown language on any page', () => {
  const block = { page: 'docs/guides/new.md', line: 3, language: 'ruby', code: 'puts 1\n' }
  const record = { ...block, page: 'docs/decisions/0001-libraries.md', language: 'ts' }
  expect(listUntested([block, record])).toEqual([block, record])
})

const sha256 = 'a'.repeat(64)
const publicKey = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }

/** The values that a reader inserts in place of `…`. */
const fillings: readonly (readonly [RegExp, string])[] = [
  [/"sha256": "…"/g, `"sha256": "${sha256}"`],
  [/"x": "…"/g, `"x": "${publicKey.x}"`],
  [/, …|… ,/g, ''],
  [/\{ … \}/g, '{}'],
  [/\[ … \]/g, '[]'],
]

const fillIn = (code: string) => fillings.reduce((text, [pattern, value]) => text.replace(pattern, value), code)
const withoutComments = (code: string) =>
  code.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*/g, token => (token.startsWith('"') ? token : ''))
const parseBlock = (code: string) => JSON.parse(withoutComments(fillIn(code))) as Record<string, unknown>
const asObject = (code: string) => (withoutComments(code).trim().startsWith('{') ? code : `{${code}}`)

/** Values that complete the configuration of a block. */
const fallbacks = [
  ['origin', 'https://agents.example'],
  ['operator_token', 'x'.repeat(24)],
  ['agents', { desk: { use: 'builtin:echo' } }],
] as const

/** The swarm that contains `agents/shop`. */
const { shop } = parseBlock(findBlock(['docs/guides/swarm.md', '"use": "swarm"']).code).agents as { shop: object }

describe('configuration in the docs', () => {
  const cases = configBlocks.map(([page, mark, isInShop]) => ({ page, mark, isInShop }))
  it.each(cases)('$page with $mark is valid as it is', async ({ page, mark, isInShop }) => {
    const part = parseBlock(asObject(findBlock([page, mark]).code))
    await expectValid(fillConfig(isInShop ? { agents: { shop: { ...shop, ...part } } } : part, fallbacks))
  })

  it.each(listGuideConfigs().map(({ page, line, code }) => [`${page}:${line}`, code] as const))(
    'the part of a configuration at %s is valid as it is',
    async (_, code) => expectValid(fillConfig(parseBlock(code), fallbacks)),
  )
})

async function expectValid(config: unknown): Promise<void> {
  const workingDir = createDocsFolder({
    'postern.config.json': JSON.stringify(config),
    'prompt.md': 'You sell cakes.',
    'blocks.csv': 'spam.example\n',
    'pay-keys.json': JSON.stringify({ keys: [publicKey] }),
  })
  const secret = 's'.repeat(32)
  const names = JSON.stringify(config).matchAll(/"env":"(\w+)"/g)
  const environment = Object.fromEntries([...names].map(([, name = '']) => [name, secret]))
  const file = await readConfigFile({ environment, workingDir })
  expect(file.missingSettings).toEqual([])
  expect(() => parseConfig(file.tree)).not.toThrow()
}

/** Returns every path of an example that the real value lacks. An empty list or object proves nothing. */
function listStrange(example: unknown, real: unknown, path = ''): readonly string[] {
  if (typeof example !== 'object' || example === null) return []
  if (typeof real !== 'object' || real === null) return Object.keys(example).length > 0 ? [path] : []
  return Object.entries(example).flatMap(([key, inner]) =>
    key in real ? listStrange(inner, (real as Record<string, unknown>)[key], `${path}.${key}`) : [`${path}.${key}`],
  )
}

describe('JSON on the wire in the docs', () => {
  it.each(wireBlocks)('%s with %s is JSON except for its gaps', (page, mark) => {
    const { code } = findBlock([page, mark])
    const [head, ...body] = code.split('\n\n')
    const json = body.length > 0 ? body.join('\n\n') : (head ?? '')
    expect(Object.keys(parseBlock(json)).length).toBeGreaterThan(0)
  })

  it('the message in the guide to webhooks has only members that an agent gets', async () => {
    const gateway = await openTestGateway()
    try {
      await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'hello' })
      const { message } = await gateway.readMessage('1')
      const example = parseBlock(findBlock(['docs/guides/webhook.md', '"recipient_capabilities"']).code)
      expect(
        listStrange(example, { ...message, history: [{ role: '', sender: message.sender }, { role: '' }] }),
      ).toEqual([])
    } finally {
      await gateway.close()
    }
  })

  it('the call in the guide to connectors reaches an agent', async () => {
    const { code } = findBlock(['docs/guides/connectors.md', 'SendStreamingMessage'])
    const [, path] = /^POST https:\/\/agents\.example(\S+)/.exec(code) ?? []
    const gateway = await openTestGateway(() => ({ agents: { desk: { use: 'builtin:echo' } } }))
    try {
      const body = parseBlock(code.split('\n\n').slice(1).join('\n\n'))
      const { params } = body as { params: { message: { metadata: unknown } } }
      const message = { ...params.message, messageId: 'm-1', contextId: 'c-1', metadata: {} }
      const response = await fetch(`${gateway.url()}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'ann' })}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
        },
        body: JSON.stringify({ ...body, params: { message } }),
      })
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('what does it cost?')
    } finally {
      await gateway.close()
    }
  })
})

it('the npm scripts that the README names exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8'))
  const readme = readFileSync(join(import.meta.dirname, '../../../../README.md'), 'utf8')
  const scriptNames = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)]
    .map(([, name]) => name)
    .filter(name => name !== 'install')
  expect(scriptNames.filter(name => !(String(name) in scripts))).toEqual([])
})
