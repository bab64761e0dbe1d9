import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { createSchemaRoutes } from '../../src/discovery/schema-routes.ts'
import { defineConfig } from '../../src/index.ts'

const app = new Hono().route('/', createSchemaRoutes())
const readSchema = async (name: string) => (await app.request(`/schemas/${name}`)).json()

test.each(['config.json', 'message.json', 'response.json'])('the gateway serves %s as in the package', async name => {
  const response = await app.request(`/schemas/${name}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/schema+json')
  const file = readFileSync(join(import.meta.dirname, '../../schemas', name), 'utf8')
  expect(await response.json()).toEqual(JSON.parse(file))
})

test.each(['nothing.json', 'toString', '__proto__', '..%2fpackage.json'])(
  'the gateway does not serve the schema %s',
  async name => {
    expect((await app.request(`/schemas/${name}`)).status).toBe(404)
  },
)

/** Returns the faults that a validator of JSON Schema finds in a configuration. */
async function listFaults(settings: unknown) {
  const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(
    await readSchema('config.json'),
  )
  return validate(settings) ? [] : (validate.errors ?? [])
}

describe('config.json', () => {
  const isValid = async (settings: unknown) => (await listFaults(settings)).length === 0

  test('accepts what defineConfig() accepts, with references in place of texts', async () => {
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
    expect(await isValid(settings)).toBe(true)
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
    const config = { origin: 'https://agents.example', agents: { a: { use: 'builtin:echo' } }, ...settings }
    expect(await isValid(config)).toBe(false)
  })

  test('reports a fault of an agent only for its own kind, as an editor shows it', async () => {
    const agentConfig = { use: 'openai', base_url: 'https://model.example/v1', model: 'm', modle: 'm' }
    const faults = await listFaults({ origin: 'https://agents.example', agents: { desk: agentConfig } })
    const unexpected = faults.filter(({ keyword }) => keyword !== 'if')
    expect(unexpected).toMatchObject([{ keyword: 'additionalProperties', params: { additionalProperty: 'modle' } }])
  })

  test('describes its keys', async () => {
    const { properties } = await readSchema('config.json')
    expect(properties.origin.description).toMatch(/^Public address of the gateway/)
    expect(properties.limits.properties.loop.properties.max_hops.description).toMatch(/\w+/)
    const kinds = properties.agents.additionalProperties.allOf as {
      then: { properties: Record<string, { description?: string }> }
    }[]
    const model = kinds.find(({ then }) => 'base_url' in then.properties)
    expect(model?.then.properties.base_url?.description).toMatch(/^Address before/)
  })
})
