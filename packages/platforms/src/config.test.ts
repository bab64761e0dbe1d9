import { expect, test } from 'vitest'
import { findUnsafePlatform, platformsConfigSchema } from './config.ts'

const slack = { bot_token: 'xoxb-1', signing_secret: '0123456789abcdef' }

test('the settings of Slack need a token and a signing secret', () => {
  expect(platformsConfigSchema.parse(undefined)).toEqual({})
  expect(platformsConfigSchema.parse({ slack }).slack).toMatchObject({ ...slack, agents: {} })
  const faults = platformsConfigSchema.safeParse({ slack: { bot_token: 'xoxb-1' } }).error?.issues
  expect(faults).toMatchObject([{ path: ['slack', 'signing_secret'] }])
})

test('a channel belongs to one agent', () => {
  const agents = { sales: { channels: ['C1', 'C2'] }, desk: { channels: ['C2'] } }
  const faults = platformsConfigSchema.safeParse({ slack: { ...slack, agents } }).error?.issues
  expect(faults).toMatchObject([
    { path: ['slack', 'agents', 'desk', 'channels'], message: 'names the channel C2, in which "sales" answers' },
  ])
})

test.each([
  ['http://127.0.0.1:9000/api/', 1],
  ['http://localhost:9000/', 1],
  ['https://slack-gov.com/api/', 0],
])('an API at %s gives %i faults outside of dev mode', (api_url, count) => {
  expect(findUnsafePlatform('slack', { api_url })).toHaveLength(count)
})
