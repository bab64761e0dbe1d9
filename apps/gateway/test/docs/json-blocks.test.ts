import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig, readConfigFile } from '../../src/config/read-config.ts'
import { fillAll } from '../../src/dev/fill.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { findBlock } from './blocks.ts'
import { configBlocks, listUntested, wireBlocks } from './cases.ts'
import { createDocsFolder } from './folder.ts'

it('every code block of the README and the docs has a test that runs it', () => {
  expect(listUntested().map(({ page, line }) => `${page}:${line}`)).toEqual([])
})

const sha256 = 'a'.repeat(64)
const publicKey = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }

/** What a reader puts in the place of `…`. */
const fillings: readonly (readonly [RegExp, string])[] = [
  [/"sha256": "…"/g, `"sha256": "${sha256}"`],
  [/"x": "…"/g, `"x": "${publicKey.x}"`],
  [/, …|… ,/g, ''],
  [/\{ … \}/g, '{}'],
  [/\[ … \]/g, '[]'],
]

const fillIn = (code: string) => fillings.reduce((text, [pattern, value]) => text.replace(pattern, value), code)
const withoutComments = (code: string) =>
  code.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*/g, found => (found.startsWith('"') ? found : ''))
const parseBlock = (code: string) => JSON.parse(withoutComments(fillIn(code))) as Record<string, unknown>
const asObject = (code: string) => (withoutComments(code).trim().startsWith('{') ? code : `{${code}}`)

/** A configuration that needs nothing more than what a block leaves out. */
const rest = [
  ['origin', 'https://agents.example'],
  ['operator_token', 'x'.repeat(24)],
  ['agents', { desk: { use: 'builtin:echo' } }],
  ['agents/shop/use', 'swarm'],
] as const

/** What a block is a part of, by its place in `configBlocks`. */
const wholes: Readonly<Record<string, object>> = {
  'agents/shop': parseBlock(findBlock(['docs/agents.md', '"use": "swarm"']).code),
  'agents/model': { use: 'openai', base_url: 'http://127.0.0.1:11434/v1', model: 'llama3.2' },
}

describe('configuration in the docs', () => {
  it.each(configBlocks)('%s with %s is taken as it stands', async (page, mark, place) => {
    const { code } = findBlock([page, mark])
    const part = parseBlock(asObject(code))
    const tree = place === '' ? part : { agents: { shop: { ...wholes[place], ...part } } }
    const text = JSON.stringify(fillAll(tree, place === '' ? rest.slice(0, 3) : rest))
    const workingDir = createDocsFolder({
      'postern.config.json': text,
      'prompt.md': 'You sell cakes.',
      'pay-keys.json': JSON.stringify({ keys: [publicKey] }),
    })
    const environment = {
      OPERATOR_TOKEN: 'x'.repeat(24),
      COLLECTOR_KEY: 'Bearer key',
      PY_SECRET: 's'.repeat(24),
      MCP_KEY: 'k'.repeat(24),
    }
    const file = await readConfigFile({ environment, workingDir })
    expect(file.missing).toEqual([])
    expect(() => parseConfig(file.tree)).not.toThrow()
  })
})

/** Every path of an example that is not in the real thing; an empty list or object shows nothing. */
function listStrange(example: unknown, real: unknown, path = ''): readonly string[] {
  if (typeof example !== 'object' || example === null) return []
  if (typeof real !== 'object' || real === null) return Object.keys(example).length > 0 ? [path] : []
  return Object.entries(example).flatMap(([key, inner]) =>
    key in real ? listStrange(inner, (real as Record<string, unknown>)[key], `${path}.${key}`) : [`${path}.${key}`],
  )
}

describe('JSON on the wire in the docs', () => {
  it.each(wireBlocks)('%s with %s is JSON once its gaps are filled', (page, mark) => {
    const { code } = findBlock([page, mark])
    const [head, ...body] = code.split('\n\n')
    const json = body.length > 0 ? body.join('\n\n') : (head ?? '')
    expect(Object.keys(parseBlock(json)).length).toBeGreaterThan(0)
  })

  it('the message that docs/agents.md shows has no member that an agent does not get', async () => {
    const gateway = await openTestGateway()
    try {
      await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'hello' })
      const { message } = await gateway.show('1')
      const example = parseBlock(findBlock(['docs/agents.md', '"recipient_capabilities"']).code)
      expect(
        listStrange(example, { ...message, history: [{ role: '', sender: message.sender }, { role: '' }] }),
      ).toEqual([])
    } finally {
      await gateway.close()
    }
  })

  it('the call that docs/connectors.md shows reaches an agent', async () => {
    const { code } = findBlock(['docs/connectors.md', 'SendStreamingMessage'])
    const [, path] = /^POST https:\/\/agents\.example(\S+)/.exec(code) ?? []
    const gateway = await openTestGateway(() => ({ agents: { desk: { use: 'builtin:echo' } } }))
    try {
      const body = parseBlock(code.split('\n\n').slice(1).join('\n\n'))
      const { params } = body as { params: { message: { metadata: unknown } } }
      const message = { ...params.message, messageId: 'm-1', contextId: 'c-1', metadata: {} }
      const answer = await fetch(`${gateway.url()}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'ann' })}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
        },
        body: JSON.stringify({ ...body, params: { message } }),
      })
      expect(answer.status).toBe(200)
      expect(await answer.text()).toContain('what does it cost?')
    } finally {
      await gateway.close()
    }
  })
})

it('the commands that the README has npm run are scripts', () => {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8'))
  const readme = readFileSync(join(import.meta.dirname, '../../../../README.md'), 'utf8')
  const named = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)]
    .map(([, name]) => name)
    .filter(name => name !== 'install')
  expect(named.filter(name => !(String(name) in scripts))).toEqual([])
})
