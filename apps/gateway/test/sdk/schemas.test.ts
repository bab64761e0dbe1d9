import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createSchemaRoutes } from '../../src/discovery/extensions.ts'
import { defineConfig } from '../../src/index.ts'

const app = new Hono().route('/', createSchemaRoutes())
const read = async (name: string) => (await app.request(`/schemas/${name}`)).json()

test.each(['config.json', 'message.json', 'response.json'])(
  'the gateway serves %s as it is in the package',
  async name => {
    const answer = await app.request(`/schemas/${name}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/schema+json')
    const file = readFileSync(join(import.meta.dirname, '../../schemas', name), 'utf8')
    expect(await answer.json()).toEqual(JSON.parse(file))
  },
)

test.each(['nothing.json', 'toString', '__proto__', '..%2fpackage.json'])(
  'the gateway serves no schema %s',
  async name => {
    expect((await app.request(`/schemas/${name}`)).status).toBe(404)
  },
)

describe('config.json', () => {
  const check = async (settings: unknown) => z.fromJSONSchema(await read('config.json')).safeParse(settings).success

  test('admits what defineConfig() admits, with references in place of texts', async () => {
    const settings = defineConfig({
      $schema: './node_modules/postern/schemas/config.json',
      origin: { env: 'ORIGIN' },
      operator_token: { file: 'token' },
      email: { submit: { host: 'mail.example', port: 25 } },
      agents: {
        desk: { use: './agents/desk.ts' },
        py: { use: 'webhook', url: 'http://127.0.0.1:5000/', secret: { env: 'S' } },
      },
    })
    expect(await check(settings)).toBe(true)
  })

  test.each([
    ['an unknown key', { orgin: 'https://agents.example' }],
    ['a wrong value', { log: { level: 'loud' } }],
    ['a reference of two kinds', { operator_token: { env: 'A', file: 'b' } }],
    ['a kind of agent that there is not', { agents: { desk: { use: 'nobody' } } }],
    [
      'a key of another kind of agent',
      { agents: { desk: { use: './agents/desk.ts', base_url: 'https://x.example' } } },
    ],
  ])('refuses %s', async (_, settings) => {
    const whole = { origin: 'https://agents.example', agents: { a: { use: 'builtin:echo' } }, ...settings }
    expect(await check(whole)).toBe(false)
  })

  test('explains its keys', async () => {
    const { properties } = await read('config.json')
    expect(properties.origin.description).toMatch(/^Public address of the gateway/)
    expect(properties.limits.properties.loop.properties.max_hops.description).toMatch(/\w+/)
    const kinds = properties.agents.additionalProperties.anyOf as {
      properties: Record<string, { description?: string }>
    }[]
    expect(kinds.find(each => 'base_url' in each.properties)?.properties.base_url?.description).toMatch(
      /^Address before/,
    )
  })
})
