// Runs Slack's Web API on loopback as the far side of the tests, and signs events as Slack does.
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'

export const slackTeam = 'T0001'
export const slackBot = 'U0BOT'
export const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
export const botToken = 'xoxb-1234567890-of-the-tests'

/** A call of the gateway, with the members of its form. */
interface SlackCall {
  readonly method: string
  readonly authorization: string | undefined
  readonly form: Readonly<Record<string, string>>
}

type SlackAnswer = Readonly<Record<string, unknown>> & { readonly headers?: Readonly<Record<string, string>> }

/** A user as `users.info` documents it (https://docs.slack.dev/reference/methods/users.info). */
const users: Readonly<Record<string, object>> = {
  U1: { id: 'U1', team_id: slackTeam, name: 'ann', tz: 'Europe/Vienna', profile: { display_name: 'Ann' } },
  U2: { id: 'U2', team_id: slackTeam, name: 'guest', is_restricted: true, profile: { display_name: 'Ann' } },
  U3: { id: 'U3', team_id: 'T0999', name: 'carol', is_stranger: true, profile: { display_name: 'Carol' } },
  U4: { id: 'U4', team_id: slackTeam, name: 'robot', is_bot: true, profile: { display_name: 'Robot' } },
}

export interface SlackApi {
  readonly port: number
  readonly calls: readonly SlackCall[]
  /** Lists the texts that were posted, in their order. */
  posts(): readonly SlackCall[]
  /** Answers the next call of a method with this, instead of as usual. */
  answerNext(method: string, answer: SlackAnswer): void
  close(): void
}

/** Opens the API. Each post gets the next `ts`. */
export async function openSlackApi(): Promise<SlackApi> {
  const calls: SlackCall[] = []
  const prepared = new Map<string, SlackAnswer[]>()
  let postCount = 0

  function answer(method: string, form: SlackCall['form']): SlackAnswer {
    const preparedAnswer = prepared.get(method)?.shift()
    if (preparedAnswer) return preparedAnswer
    if (method === 'auth.test')
      return { ok: true, team_id: slackTeam, user_id: slackBot, user: 'desk', bot_id: 'B0BOT' }
    if (method === 'conversations.open') return { ok: true, channel: { id: `D${form.users}` } }
    if (method === 'conversations.replies') return { ok: true, messages: [{ ts: form.ts }] }
    if (method === 'chat.postMessage') {
      postCount += 1
      return { ok: true, channel: form.channel, ts: `1800000000.${String(postCount).padStart(6, '0')}` }
    }
    if (method !== 'users.info') return { ok: true }
    const user = users[form.user ?? '']
    return user ? { ok: true, user } : { ok: false, error: 'user_not_found' }
  }

  const server = createServer(async (request, response) => {
    const method = new URL(request.url ?? '', 'http://slack.test').pathname.replace('/api/', '')
    const form = Object.fromEntries(new URLSearchParams(await readText(request)))
    calls.push({ method, authorization: request.headers.authorization, form })
    const { headers, ...body } = answer(method, form)
    response.writeHead(headers ? 429 : 200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    posts: () => calls.filter(({ method }) => method === 'chat.postMessage'),
    answerNext(method, preparedAnswer) {
      prepared.set(method, [...(prepared.get(method) ?? []), preparedAnswer])
    },
    close: () => server.close(),
  }
}

/** Signs a body as https://docs.slack.dev/authentication/verifying-requests-from-slack describes. */
export function signSlack(body: string, { at = Date.now(), secret = signingSecret } = {}): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const mac = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${mac}` }
}

let eventCount = 0

/** Returns the body of an event as https://docs.slack.dev/apis/events-api documents it. */
export function writeEvent(event: object, members: object = {}): string {
  eventCount += 1
  return JSON.stringify({
    token: 'verification-token-of-slack',
    team_id: slackTeam,
    api_app_id: 'A0001',
    event,
    type: 'event_callback',
    event_id: `Ev${eventCount}`,
    event_time: 1_700_000_000,
    authorizations: [{ team_id: slackTeam, user_id: slackBot, is_bot: true }],
    ...members,
  })
}
