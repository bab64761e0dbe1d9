import { expect, test } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { listSettings } from './config-print.ts'

test('each setting shows its source, and secrets stay hidden', () => {
  const settings = {
    origin: 'https://agents.example',
    agents: { echo: { use: 'builtin:echo' } },
    operator_token: 'a-secret-of-the-operator',
    listen: { port: 9000 },
  }
  const config = { ...configSchema.parse(settings), data: '/elsewhere' }
  const environment = { POSTERN_LISTEN_PORT: '9000' }
  const settingsByKey = new Map(
    listSettings({ config, fileConfig: settings, environment }).settings.map(({ key, ...setting }) => [key, setting]),
  )
  expect(settingsByKey.get('origin')).toEqual({ value: 'https://agents.example', source: 'file' })
  expect(settingsByKey.get('listen.port')).toEqual({ value: 9000, source: 'environment' })
  expect(settingsByKey.get('operator_token')).toEqual({ value: '(set)', source: 'file' })
  expect(settingsByKey.get('listen.host')?.source).toBe('default')
  expect(settingsByKey.get('data')?.source).toBe('dev')
})

test('settings of very many agents are listed for the first 50, and for one agent by its name', () => {
  let reads = 0
  const agents: Record<string, object> = {}
  for (let index = 0; index < 1_000; index += 1)
    Object.defineProperty(agents, `agent${index}`, {
      enumerable: true,
      get() {
        reads += 1
        return { use: 'webhook', url: 'https://hooks.example/x', secret: 'a-secret-of-one-agent' }
      },
    })
  const settings = { origin: 'https://agents.example', agents }
  const list = listSettings({ config: settings, fileConfig: settings, environment: {} })
  const listedNames = new Set(list.settings.map(({ key }) => key.split('.')).flatMap(([, name = '']) => name))
  expect([listedNames.has('agent49'), listedNames.has('agent50'), list.agents_left_out]).toEqual([true, false, 950])
  expect(reads).toBeLessThan(300)
  const one = listSettings({ config: settings, fileConfig: settings, environment: {}, agent: 'agent999' })
  expect(one.settings.map(({ key, value }) => [key, value])).toEqual([
    ['agents.agent999.use', 'webhook'],
    ['agents.agent999.url', 'https://hooks.example/x'],
    ['agents.agent999.secret', '(set)'],
  ])
})
