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
  const sourcesByKey = new Map(
    listSettings({ config, fileConfig: settings, environment }).map(({ key, ...rest }) => [key, rest]),
  )
  expect(sourcesByKey.get('origin')).toEqual({ value: 'https://agents.example', source: 'file' })
  expect(sourcesByKey.get('listen.port')).toEqual({ value: 9000, source: 'environment' })
  expect(sourcesByKey.get('operator_token')).toEqual({ value: '(set)', source: 'file' })
  expect(sourcesByKey.get('listen.host')?.source).toBe('default')
  expect(sourcesByKey.get('data')?.source).toBe('dev')
})
