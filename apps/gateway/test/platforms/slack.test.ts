import type { SlackApi } from '@postern/platforms/testing'
import {
  botToken,
  openSlackApi,
  signingSecret,
  signSlack,
  slackBot,
  slackTeam,
  writeEvent,
} from '@postern/platforms/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { codeOf } from '../setup/people-gateway.ts'
import { decide, findActionPath, shopkeeper } from '../setup/requirement-steps.ts'

const member = 'urn:mentionable:auth:slack-workspace-member:v0.1'
const echo = { use: 'builtin:echo', name: 'Echo', description: 'Says back what it heard' }

let api: SlackApi
let gateway: TestGateway

beforeAll(async () => {
  api = await openSlackApi()
  gateway = await openTestGateway(({ network }) => ({
    network: { loopback: { ...network.loopback, 'slack.com': api.port } },
    agents: {
      desk: { ...echo, people: { link: true } },
      sales: echo,
      shop: shopkeeper,
      floor: { ...echo, allow: [{ method: member, claims: { channel: 'CFLOOR' } }] },
      board: { ...echo, allow: [{ method: member, subject: `slack:${slackTeam}/U1` }] },
    },
    platforms: {
      slack: {
        bot_token: botToken,
        signing_secret: signingSecret,
        default_agent: 'desk',
        agents: {
          sales: { channels: ['CSALES'] },
          board: { channels: ['CBOARD'] },
          shop: { channels: ['CSHOP'] },
          floor: { channels: ['CFLOOR', 'CSTREET'] },
        },
      },
    },
  }))
})
afterAll(async () => {
  await gateway?.close()
  api?.close()
})

let tsCount = 0
function nextTs(): string {
  tsCount += 1
  return `1700000000.${String(tsCount).padStart(6, '0')}`
}

function mention(text: string, event: object = {}) {
  const ts = nextTs()
  return { type: 'app_mention', user: 'U1', channel: 'C1', ts, text: `<@${slackBot}> ${text}`, ...event }
}

function direct(text: string, event: object = {}) {
  return { type: 'message', channel_type: 'im', user: 'U1', channel: 'D1', ts: nextTs(), text, ...event }
}

function post(body: string, headers: Readonly<Record<string, string>> = signSlack(body)): Promise<Response> {
  return fetch(`${gateway.url()}/platforms/slack`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

const postEvent = (event: object, members: object = {}) => post(writeEvent(event, members))

/** Waits for the post that contains the words. */
const findPost = (words: string) =>
  eventually(async () => api.posts().find(({ form }) => `${form.markdown_text}${form.text}`.includes(words)))

const listPosts = (words: string) => api.posts().filter(({ form }) => `${form.markdown_text}`.includes(words))

async function findMessage(ts: string, channel = 'C1') {
  return eventually(async () => (await gateway.messages()).find(({ id }) => id === `slack:${channel}:${ts}`))
}

describe('a mention in a channel', () => {
  test('reaches the agent with the evidence of the workspace, and the answer stands in its thread', async () => {
    const event = mention('what is the *plan*?')
    expect((await postEvent(event)).status).toBe(200)
    const { form, authorization } = await findPost('plan')
    expect(form).toMatchObject({ channel: 'C1', thread_ts: event.ts })
    expect(authorization ?? `Bearer ${form.token}`).toBe(`Bearer ${botToken}`)
    await findMessage(event.ts)
    const { message } = await gateway.readMessage(`slack:C1:${event.ts}`)
    expect(message).toMatchObject({
      received_via: 'slack',
      recipient: '@desk@agents.test',
      recipient_capabilities: { mention_relay: { kind: 'inline' } },
      parts: [{ kind: 'text', mime: 'text/markdown', content: 'what is the **plan**?' }],
      sender: {
        address: '@u1@t0001.slack',
        display_name: 'Ann',
        auth_method: 'platform-webhook',
        verified: true,
        key_id: 'A0001',
        profile: { display_name: 'Ann', timezone: 'Europe/Vienna', provider: 'slack' },
        identities: [
          {
            method: member,
            subject: 'slack:T0001/U1',
            issuer: 'agents.test',
            assurance: 'member',
            claims: { channel: 'C1' },
            proof: { type: 'transport', verified_by: 'platform-webhook', key_id: 'A0001' },
          },
        ],
      },
    })
    expect(JSON.stringify(message)).not.toContain('verification-token-of-slack')
  })

  test('goes to the agent of its channel', async () => {
    const event = mention('an offer, please', { channel: 'CSALES' })
    await postEvent(event)
    expect(await findMessage(event.ts, 'CSALES')).toMatchObject({ agent: 'sales' })
  })

  test('gets one answer if Slack also sends it as a message, or repeats it', async () => {
    const event = mention('only once')
    const body = writeEvent(event)
    await post(body)
    await post(body, { ...signSlack(body), 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' })
    await postEvent({ ...event, type: 'message', channel_type: 'channel' })
    await findPost('only once')
    await postEvent(mention('the next one'))
    await findPost('the next one')
    expect(listPosts('only once')).toHaveLength(1)
  })

  test('reaches the agent when Slack repeats an event that the gateway did not acknowledge', async () => {
    api.answerNext('users.info', { ok: false, error: 'internal_error' })
    api.answerNext('users.info', { ok: false, error: 'internal_error' })
    const body = writeEvent(mention('a second try', { user: 'U3' }))
    expect((await post(body)).status).toBe(503)
    const repeated = await post(body, { ...signSlack(body), 'x-slack-retry-num': '1' })
    expect(repeated.status).toBe(200)
    await findPost('a second try')
  })
})

describe('a request without proof', () => {
  test.each([
    ['another secret', (body: string) => signSlack(body, { secret: 'x'.repeat(32) }), 'signature_invalid'],
    ['a time ten minutes ago', (body: string) => signSlack(body, { at: Date.now() - 600_000 }), 'signature_invalid'],
    ['no signature', () => ({}), 'unsigned'],
    [
      'only the header of forwarded events',
      () => ({ 'x-slack-socket-token': 'x', 'x-slack-signature': 'v0=0' }),
      'signature_invalid',
    ],
  ])('gets a refusal for %s, which the operator sees', async (_, sign, code) => {
    const words = `forged ${code} ${tsCount}`
    const body = writeEvent(mention(words))
    expect((await post(body, sign(body) as Record<string, string>)).status).toBe(401)
    const { items } = await gateway.requestOperator<{ items: { via: string; code: string }[] }>('/refusals')
    expect(items[0]).toMatchObject({ via: 'slack', code, endpoint: 'POST /platforms/slack' })
    expect(listPosts(words)).toHaveLength(0)
  })

  test('gets a refusal if one byte of its body differs', async () => {
    const body = writeEvent(mention('honest'))
    expect((await post(body.replace('honest', 'hacked'), signSlack(body))).status).toBe(401)
  })
})

test('answers the challenge by which Slack checks the address of events', async () => {
  const body = JSON.stringify({ type: 'url_verification', token: 'x', challenge: 'c-123' })
  const response = await post(body)
  expect([response.status, await response.json()]).toEqual([200, { challenge: 'c-123' }])
})

describe('messages without a mention', () => {
  test('reach the agent in a thread in which it has answered, and nowhere else', async () => {
    const [first, stray] = [mention('start of a thread'), nextTs()]
    await postEvent({
      type: 'message',
      channel_type: 'channel',
      user: 'U1',
      channel: 'C1',
      ts: stray,
      text: 'idle talk',
    })
    await postEvent(first)
    await findPost('start of a thread')
    await eventually(async () => (await gateway.deliveries()).some(({ state }) => state === 'sent'))
    const reply = { type: 'message', channel_type: 'channel', user: 'U1', channel: 'C1', thread_ts: first.ts }
    await eventually(async () => {
      await postEvent({ ...reply, ts: nextTs(), text: 'and further on' })
      return listPosts('and further on').length > 0
    })
    expect(listPosts('and further on')[0]?.form.thread_ts).toBe(first.ts)
    expect((await gateway.messages()).filter(({ id }) => id === `slack:C1:${stray}`)).toHaveLength(0)
  })

  test('reach the agent in a direct conversation, which shares no history with a channel', async () => {
    await postEvent(mention('said in public'))
    await findPost('said in public')
    const event = direct('said in private')
    await postEvent(event)
    const { form } = await findPost('said in private')
    expect(form).toMatchObject({ channel: 'D1' })
    expect(form.thread_ts).toBeUndefined()
    const { message } = await gateway.readMessage(`slack:D1:${event.ts}`)
    expect(JSON.stringify(message?.history ?? [])).not.toContain('said in public')
  })
})

describe('people', () => {
  test.each([
    ['a member', 'U1', 'member', 'slack:T0001/U1', {}],
    ['a guest', 'U2', 'guest', 'slack:T0001/U2', {}],
    ['somebody of another workspace', 'U3', 'external', 'slack:T0999/U3', { user_team: 'T0999' }],
    ['a program', 'U4', 'bot', 'slack:T0001/U4', { bot_id: 'B4' }],
  ])('have the assurance of what they are: %s', async (_, user, assurance, subject, members) => {
    const event = mention(`from ${user}`, { user, ...members })
    await postEvent(event)
    await findMessage(event.ts)
    const { message } = await gateway.readMessage(`slack:C1:${event.ts}`)
    expect(message?.sender.identities).toMatchObject([{ assurance, subject }])
  })

  test('pass a rule about an id, and never by the same name', async () => {
    const [ann, impostor] = [
      mention('from Ann herself', { channel: 'CBOARD' }),
      mention('I am Ann', { channel: 'CBOARD', user: 'U2' }),
    ]
    await postEvent(impostor)
    await postEvent(ann)
    await findPost('from Ann herself')
    const { message } = await gateway.readMessage(`slack:CBOARD:${impostor.ts}`)
    expect(message?.sender.display_name).toBe('Ann')
    expect(listPosts('I am Ann')).toHaveLength(0)
    expect(await findMessage(impostor.ts, 'CBOARD')).toMatchObject({ flags: expect.arrayContaining(['not_allowed']) })
  })

  test('pass a rule about the channel in which they write', async () => {
    const [inside, outside] = [
      mention('on the floor', { channel: 'CFLOOR' }),
      mention('on the street', { channel: 'CSTREET' }),
    ]
    await postEvent(outside)
    await postEvent(inside)
    await findPost('on the floor')
    expect(await findMessage(outside.ts, 'CSTREET')).toMatchObject({ flags: ['not_allowed'] })
    expect(listPosts('on the street')).toHaveLength(0)
  })

  test('are no programs: the bot never answers itself, and other programs only if they mention it', async () => {
    const own = mention('my own words', { user: slackBot, bot_id: 'B0BOT' })
    expect((await postEvent(own)).status).toBe(200)
    const thread = mention('a thread with programs')
    await postEvent(thread)
    await findPost('a thread with programs')
    const robot = {
      type: 'message',
      channel_type: 'channel',
      user: 'U4',
      bot_id: 'B4',
      channel: 'C1',
      thread_ts: thread.ts,
    }
    await postEvent({ ...robot, ts: nextTs(), text: 'beep without a mention' })
    await postEvent(mention('the last one'))
    await findPost('the last one')
    expect([...listPosts('my own words'), ...listPosts('beep without')]).toHaveLength(0)
  })
})

test('a person links their Slack account to their mail, in private and by a code that the mailbox gets', async () => {
  const mailbox = 'alice@alice.test'
  await postEvent(mention(`link <mailto:${mailbox}|${mailbox}>`))
  expect((await findPost('direct message')).form.channel).toBe('DU1')
  await postEvent(direct(`link <mailto:${mailbox}|${mailbox}>`))
  const mail = await eventually(async () =>
    gateway.simulation.mail.received.find(({ envelope, text }) => envelope.to.includes(mailbox) && codeOf(text ?? '')),
  )
  await postEvent(direct(`confirm ${codeOf(mail.text ?? '')}`))
  await findPost('is linked with this address')
  await postEvent(direct('linked'))
  expect((await findPost('Linked with this address: alice@alice.test')).form.channel).toBe('D1')
})

test('a question in a channel reaches the asked person alone, whose decision reaches the agent', async () => {
  await postEvent(mention('consent to my order', { channel: 'CSHOP' }))
  const { form } = await findPost('May I hand your order on')
  expect(form.channel).toBe('DU1')
  const answer = await decide(gateway, findActionPath(form.markdown_text ?? ''), 'grant')
  expect(answer.status).toBe(200)
  const { form: report } = await findPost('decided: consent_required granted')
  expect(report.channel).toBe('CSHOP')
  expect(listPosts('/actions/').filter(post => post.form.channel === 'CSHOP')).toEqual([])
})

test('a slash command continues the direct conversation of its writer, and gets its answer there', async () => {
  const earlier = direct('hello in private')
  await postEvent(earlier)
  await findPost('hello in private')
  const form = { command: '/desk', text: 'tell me quietly', user_id: 'U1', team_id: slackTeam, channel_id: 'C1' }
  const secrets = {
    token: 'verification-token-of-slack',
    response_url: 'https://hooks.slack.com/x',
    trigger_id: '1.2.x',
  }
  const body = new URLSearchParams({ ...form, ...secrets, api_app_id: 'A0001' }).toString()
  const headers = { ...signSlack(body), 'content-type': 'application/x-www-form-urlencoded' }
  expect((await post(body, headers)).status).toBe(200)
  expect((await findPost('tell me quietly')).form.channel).toBe('DU1')
  const records = [`slack:D1:${earlier.ts}`, 'slack:command:1.2.x'].map(id => gateway.readMessage(id))
  const [before, command] = await Promise.all(records)
  expect(command?.thread).toBe(before?.thread)
})

describe('changes', () => {
  test('reach the agent as an edit and a deletion of their author', async () => {
    const event = mention('frist version')
    await postEvent(event)
    await findPost('frist version')
    const message = {
      ...event,
      type: 'message',
      text: `<@${slackBot}> first version`,
      edited: { user: 'U1', ts: nextTs() },
    }
    const changed = {
      type: 'message',
      subtype: 'message_changed',
      channel: 'C1',
      channel_type: 'channel',
      hidden: true,
    }
    await postEvent({ ...changed, message, previous_message: { ...event, type: 'message' }, ts: nextTs() })
    const { id } = await findMessage(`${event.ts}:${message.edited.ts}`)
    expect((await gateway.readMessage(id)).message).toMatchObject({
      kind: 'edit',
      parts: [{ content: 'first version' }],
      in_reply_to: `slack:C1:${event.ts}`,
    })
    const deleted = {
      ...changed,
      subtype: 'message_deleted',
      deleted_ts: event.ts,
      previous_message: message,
      ts: nextTs(),
    }
    await postEvent(deleted)
    await findMessage(`${event.ts}:deleted`)
    const { message: former } = await gateway.readMessage(`slack:C1:${event.ts}`)
    expect(JSON.stringify(former ?? {})).not.toContain('frist version')
  })

  test('do not let anybody edit the message of somebody else', async () => {
    const event = mention('mine alone')
    await postEvent(event)
    await findPost('mine alone')
    const message = { ...event, type: 'message', user: 'U2', text: 'not mine', edited: { user: 'U2', ts: nextTs() } }
    await postEvent({ type: 'message', subtype: 'message_changed', channel: 'C1', message, ts: nextTs() })
    await postEvent(mention('after the false edit'))
    await findPost('after the false edit')
    const edits = (await gateway.messages()).filter(({ id }) => id.startsWith(`slack:C1:${event.ts}:`))
    expect(edits).toHaveLength(0)
  })

  test('are also reactions to an answer', async () => {
    const event = mention('worth a reaction')
    await postEvent(event)
    await findPost('worth a reaction')
    const ts = `1800000000.${String(api.posts().length).padStart(6, '0')}`
    const reaction = {
      type: 'reaction_added',
      user: 'U1',
      reaction: 'tada',
      item: { type: 'message', channel: 'C1', ts },
    }
    const id = `slack:C1:${ts}:reaction:tada:U1`
    await eventually(async () => {
      await postEvent(reaction)
      return (await gateway.messages()).some(message => message.id === id)
    })
    const { message } = await gateway.readMessage(id)
    expect(message).toMatchObject({ kind: 'reaction', parts: [{ content: 'Reacted to the answer with :tada:' }] })
  })
})

describe('delivery', () => {
  test('waits as long as Slack asks, and then posts once', async () => {
    api.answerNext('chat.postMessage', { ok: false, error: 'ratelimited', headers: { 'retry-after': '1' } })
    await postEvent(mention('after a while'))
    const dueAt = Date.now() + 900
    await eventually(async () => listPosts('after a while').length === 2)
    expect(Date.now()).toBeGreaterThanOrEqual(dueAt)
    const sent = await eventually(async () =>
      (await gateway.deliveries()).find(({ state, attempts }) => state === 'sent' && attempts === 2),
    )
    expect(sent).toMatchObject({ via: 'slack', to: 'slack:T0001/C1' })
  })

  test('becomes a dead letter with a fix when Slack calls the token revoked', async () => {
    api.answerNext('chat.postMessage', { ok: false, error: 'token_revoked' })
    await postEvent(mention('too late'))
    const dead = await eventually(async () => (await gateway.deliveries()).find(({ state }) => state === 'dead'))
    expect(dead.last_error).toContain('token_revoked. Install the app in the workspace again')
  })

  test('notifies nobody by the commands of Slack', async () => {
    await postEvent(mention('hello <!channel> and <!here>'))
    const { form } = await findPost('hello')
    expect(form.markdown_text).not.toContain('<!')
  })
})

test('a restarted gateway still knows what it has answered', async () => {
  const body = writeEvent(mention('before the restart'))
  await post(body)
  await findPost('before the restart')
  await eventually(async () => (await gateway.deliveries()).every(({ state }) => state === 'sent' || state === 'dead'))
  await gateway.restart()
  await post(body, { ...signSlack(body), 'x-slack-retry-num': '2' })
  await postEvent(mention('after the restart'))
  await findPost('after the restart')
  expect(listPosts('before the restart')).toHaveLength(1)
})
