import { defineAgent, defineTool } from '@postern/sdk'
import { afterEach, expect, test, vi } from 'vitest'
import type { StartedGateway, StartGatewayOptions } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'
import { openExampleModel } from '../python/example-model.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const endGateway of ends.splice(0).toReversed()) await endGateway()
})

async function open(options: StartGatewayOptions): Promise<StartedGateway> {
  const gateway = await startGateway({ folder: import.meta.dirname, log: 'silent', ...options })
  ends.push(gateway.stop)
  return gateway
}

test.each([{}, { isolate: true }])(
  'startGateway() accepts an agent that the test has imported, also with %j',
  async overrides => {
    const [findHours, close] = [vi.fn(() => 'on Monday'), vi.fn()]
    const agentModule = defineAgent({ handle: () => `It comes ${findHours()}.`, close })
    const settings = { agents: { desk: { use: './agents/library.ts', ...overrides } } } as const
    for (const module of [agentModule, { default: agentModule }]) {
      const gateway = await open({ settings, modules: { desk: module } })
      expect((await gateway.chat({ text: 'hello' })).text).toBe('It comes on Monday.')
      await gateway.restart()
      expect(close).toHaveBeenCalledOnce()
      expect((await gateway.chat({ text: 'hello' })).text).toBe('It comes on Monday.')
      close.mockClear()
    }
    expect(findHours).toHaveBeenCalledTimes(4)
  },
)

test('startGateway() accepts tools that the test has imported, by their path', async () => {
  const model = await openExampleModel()
  ends.push(model.close)
  const run = vi.fn(({ city }: { readonly city: string }) => `rain in ${city}`)
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const weather = defineTool({ description: 'The weather', parameters, run })
  const guide = { use: 'openai', base_url: model.url, model: 'm', tools: './agents/weather.ts' } as const
  const startAndAsk = async (modules: Record<string, object>) =>
    (await (await open({ settings: { agents: { guide } }, modules })).chat({ text: 'The weather in Oslo?' })).text
  expect(await startAndAsk({ './agents/weather.ts': { weather } })).toContain('rain in Oslo')
  expect(run).toHaveBeenCalledOnce()
  expect(await startAndAsk({})).toContain('a real look at Oslo')
})

test.each([
  [{ dsek: {} }, 'modules.dsek: there is no agent "dsek". Name one of the agents: desk, echo.'],
  [{ echo: {} }, 'modules.echo: the agent "echo" is not a module, it uses "builtin:echo".'],
  [{ './none.ts': {} }, /^modules\.\.\/none\.ts: there is no file \/.*none\.ts/],
  [{ desk: {} }, 'agents.desk.use: "./agents/library.ts" exports no function "handle"'],
])('startGateway() refuses %j', async (modules, expectedError) => {
  const settings = { agents: { desk: { use: './agents/library.ts' }, echo: { use: 'builtin:echo' } } } as const
  await expect(open({ settings, modules })).rejects.toThrow(expectedError)
})
