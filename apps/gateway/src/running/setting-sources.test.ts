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
    listSettings({ config, fileConfig: settings, environment }).map(({ key, ...setting }) => [key, setting]),
  )
  expect(settingsByKey.get('origin')).toEqual({ value: 'https://agents.example', source: 'file' })
  expect(settingsByKey.get('listen.port')).toEqual({ value: 9000, source: 'environment' })
  expect(settingsByKey.get('operator_token')).toEqual({ value: '(set)', source: 'file' })
  expect(settingsByKey.get('listen.host')?.source).toBe('default')
  expect(settingsByKey.get('data')?.source).toBe('dev')
})
