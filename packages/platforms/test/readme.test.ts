import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { platformsConfigSchema, slack } from '../src/index.ts'
import { openSlackChannel } from './open-slack.ts'
import { botToken, signingSecret, signSlack, slackBot, writeEvent } from './slack-api.ts'

/** Runs the statements of a module with these names in place of its imports. It resolves with the module's `status`. */
function runExample(code: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const body = `return (async () => {${code.replace(/^import .*\n/gm, '')}\nreturn status })()`
  return new Function(...Object.keys(names), body)(...Object.values(names))
}

test('the example in the README of platforms takes an event of Slack', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const { context, store, close } = await openSlackChannel()
  const event = { type: 'app_mention', user: 'U1', channel: 'C1', ts: '1700000000.000001', text: `<@${slackBot}> hi` }
  const secrets = { bot_token: botToken, signing_secret: signingSecret }
  const names = { platformsConfigSchema, slack, context, signSlack, body: writeEvent(event), ...secrets }
  expect(await runExample(code, names)).toBe(200)
  expect(await store.findMessage('slack:C1:1700000000.000001')).toMatchObject({
    message: { parts: [{ content: 'hi' }] },
  })
  await close()
})
