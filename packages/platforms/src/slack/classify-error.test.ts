import { Unavailable, Undeliverable } from '@postern/message'
import { expect, test } from 'vitest'
import { classifySlackError } from './classify-error.ts'

const answer = (error: string) =>
  Object.assign(new Error(`An API error occurred: ${error}`), { code: 'slack_webapi_platform_error', data: { error } })

test('a limit of Slack is a wait', () => {
  const error = Object.assign(new Error('limited'), { code: 'slack_webapi_rate_limited_error', retryAfter: 30 })
  expect(classifySlackError(error)).toMatchObject({ retryAfter: 30, status: 429 })
  expect(classifySlackError(answer('ratelimited'))).toBeInstanceOf(Unavailable)
  const limited = Object.assign(new Error('limited'), { name: 'AdapterRateLimitError' })
  expect(classifySlackError(limited)).toBeInstanceOf(Unavailable)
})

test.each([
  ['token_revoked', 'Install the app in the workspace again'],
  ['invalid_auth', 'Set platforms.slack.bot_token'],
  ['not_in_channel', 'Invite the app to the channel.'],
  ['msg_too_long', 'Slack refused: msg_too_long.'],
])('the answer %s is final, and says how to mend it', (reason, words) => {
  const error = classifySlackError(answer(reason))
  expect(error).toBeInstanceOf(Undeliverable)
  expect((error as Error).message).toContain(words)
})

test('a server without an answer gets another try, and an error of ours stays as it is', () => {
  const noAnswer = Object.assign(new Error('status 502'), { code: 'slack_webapi_http_error', statusCode: 502 })
  expect(classifySlackError(noAnswer)).toMatchObject({ code: 'unavailable', status: 502 })
  const bug = new TypeError('x is not a function')
  expect(classifySlackError(bug)).toBe(bug)
})
