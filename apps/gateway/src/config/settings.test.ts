import { expect, test } from 'vitest'
import { configSchema } from './schema.ts'
import { resolveSecrets } from './secrets.ts'
import { defineConfig } from './settings.ts'

test('defineConfig() accepts the values of the schema, and secret references in place of strings', () => {
  const settings = defineConfig({
    $schema: './node_modules/postern/schemas/config.json',
    origin: 'https://agents.example',
    operator_token: { env: 'TOKEN' },
    log: { level: 'warn' },
    email: { submit: { host: 'mail.example', port: 25 } },
    agents: {
      desk: { name: 'Desk', use: './agents/desk.ts' },
      py: { use: 'webhook', url: 'http://127.0.0.1:5000/', secret: { env: 'TOKEN' } },
      model: {
        use: 'openai',
        base_url: 'http://127.0.0.1:1/v1',
        model: 'm',
        tools: './tools.ts',
        tool_policies: { refund: [{ when: { properties: { all: { const: true } } }, policy: 'forbidden' }] },
      },
    },
  })
  const environment = { TOKEN: 'a-long-enough-token' }
  const { value, missingSettings } = resolveSecrets(settings, { baseDir: '.', environment })
  expect(missingSettings).toEqual([])
  expect(configSchema.parse(value)).toMatchObject({
    operator_token: environment.TOKEN,
    agents: { py: { secret: environment.TOKEN } },
  })
})

test('defineConfig() refuses unknown keys, values and kinds of agents', () => {
  // @ts-expect-error: there is no such level
  defineConfig({ log: { level: 'loud' } })
  // @ts-expect-error: there is no such key
  defineConfig({ orgin: 'https://agents.example' })
  // @ts-expect-error: a model needs its address and name
  defineConfig({ agents: { model: { use: 'openai' } } })
  const model = { use: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' } as const
  // @ts-expect-error: a condition is a JSON Schema
  defineConfig({ agents: { model: { ...model, tool_policies: { refund: [{ when: 3, policy: 'forbidden' }] } } } })
  // @ts-expect-error: there is no such kind
  defineConfig({ agents: { desk: { use: 'builtin:nobody' } } })
})
