import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'
import { askWhy, awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

const agents = join(import.meta.dirname, '../agents')
const secret = 'whsec_b3BlbnNlc2FtZW9wZW5zZXNhbWVvcGVuc2VzYW1l'
let gateway: SlowGateway
let downPort = 0
const brokenStatus = 503
const brokenServer = createServer(({ url }, response) => {
  if (url === '/moved') response.writeHead(307, { location: 'https://login.test/sign-in?next=hidden' }).end()
  else response.writeHead(brokenStatus).end()
})

beforeAll(async () => {
  await new Promise<void>(resolve => brokenServer.listen(0, '127.0.0.1', resolve))
  // The server closes again, so that nobody listens at its port.
  const portServer = createServer()
  await new Promise<void>(resolve => portServer.listen(0, '127.0.0.1', resolve))
  downPort = (portServer.address() as AddressInfo).port
  await new Promise(resolve => portServer.close(resolve))
  gateway = await openSlowGateway(
    {
      slow: { queue: 'queue' },
      merging: { queue: 'merge' },
      thrower: { use: join(agents, 'failing/thrower.ts') },
      silent: { use: join(agents, 'counted/silent.ts') },
      hanging: { use: join(agents, 'waiting/hanging.ts'), deadline: '1s' },
      deaf: { use: join(agents, 'counted/silent.ts'), receives: ['follow'] },
      hook: { use: 'webhook', url: `http://127.0.0.1:${downPort}/in?token=hidden-token`, secret },
      busy: { use: 'webhook', url: `http://127.0.0.1:${(brokenServer.address() as AddressInfo).port}/in`, secret },
      moved: { use: 'webhook', url: `http://127.0.0.1:${(brokenServer.address() as AddressInfo).port}/moved`, secret },
      invalid: { use: join(agents, 'failing/invalid-answer.ts') },
      shop: { use: join(agents, 'asking/shopkeeper.ts') },
    },
    { delivery: { retry_after: 600 } },
  )
})
afterAll(async () => {
  await gateway.close()
  brokenServer.close()
})

const postText = (agent: string, text = 'hello', thread: string = crypto.randomUUID()) =>
  gateway.post(agent, text, { thread })

describe('why explains a message whose agent', () => {
  test('threw, with agent, location and error', async () => {
    const id = await postText('thrower', 'seventeen')
    const reason = await awaitReason(gateway, id, 'agent_threw')
    expect(reason.sentence).toMatch(
      /^Failed at [\d :-]+ UTC: agent "thrower" threw an error at \S*failing\/thrower\.ts:8 \(TypeError: there is no order "seventeen"\)$/,
    )
    expect(reason.fix?.text).toMatch(/^Correct the agent at \S*failing\/thrower\.ts:8\./)
    expect(listFacts(reason)).toContain(
      'received by activitypub from @alice@mastodon.test (proven) for @thrower@agents.test',
    )
    expectWellFormed(reason)
  })

  test('took the message without an answer', async () => {
    const reason = await awaitReason(gateway, await postText('silent'), 'agent_silent')
    expect(reason.sentence).toMatch(
      /^Not answered: agent "silent" took the message and gave no answer, at [\d :-]+ UTC$/,
    )
    expectWellFormed(reason)
  })

  test('does not receive such messages', async () => {
    const reason = await awaitReason(gateway, await postText('deaf'), 'not_received')
    expect(reason.fix?.text).toBe('Add "message" to agents.deaf.receives if the agent should get it.')
    expectWellFormed(reason)
  })

  test('exceeded its deadline', async () => {
    const reason = await awaitReason(gateway, await postText('hanging'), 'deadline')
    expect(reason.sentence).toMatch(/: the agent took longer than agents\.hanging\.deadline \(1s\)$/)
    expect(reason.fix?.text).toContain('raise agents.hanging.deadline')
    expectWellFormed(reason)
  })

  test('is an unreachable webhook, with its URL, the cause, the number of attempts and the time of the next one', async () => {
    const reason = await awaitReason(gateway, await postText('hook'), 'webhook_down')
    const url = `http://127.0.0.1:${downPort}/in`
    expect(reason.sentence).toMatch(
      new RegExp(
        `^Not answered yet: the webhook of agent "hook" at ${url} cannot be reached \\(connection failed: ECONNREFUSED\\), 1 try since [\\d :-]+ UTC; next try at [\\d :-]+ UTC$`,
      ),
    )
    expect(reason.fix).toEqual({
      text: `Start what listens at ${url}; the message is then answered by itself.`,
      command: `curl -i '${url}'`,
    })
    expect(JSON.stringify(reason)).not.toMatch(/hidden-token|whsec/)
    expect(listFacts(reason)).toMatch(
      /attempt 1 ended: unavailable \(Unavailable: Cannot fetch: connection failed.*\), next try at 2/,
    )
    expectWellFormed(reason)
  })

  test('is a webhook that answered with an error', async () => {
    const reason = await awaitReason(gateway, await postText('busy'), 'webhook_down')
    expect(reason.sentence).toMatch(/\(The webhook answered 503 at http:\/\/127\.0\.0\.1:\d+\/in\)/)
  })

  test('is a webhook that answered with a redirect, with its target and without a gateway file', async () => {
    const reason = await awaitReason(gateway, await postText('moved'), 'backend_failed')
    expect(reason.sentence).toMatch(
      /\(The webhook answered 307 at http:\/\/127\.0\.0\.1:\d+\/moved, a redirect to https:\/\/login\.test\/sign-in that is not followed; expected 200 or 204\)$/,
    )
    expect(reason.fix?.command).toMatch(/^curl -i 'http:/)
    expect(JSON.stringify(reason)).not.toMatch(/\.ts\b|hidden/)
    expectWellFormed(reason)
  })

  test('gave an invalid answer, with the member, its value and the rule', async () => {
    const reason = await awaitReason(gateway, await postText('invalid'), 'answer_invalid')
    expect(reason.sentence).toMatch(
      /: agent "invalid" gave an answer that is not valid \("parts\.0\.bytes_ref\.data_base64" \("\$\$\$"\) must be base64\)$/,
    )
    expect(JSON.stringify(reason)).not.toMatch(/\.ts\b/)
    expectWellFormed(reason)
  })

  test('is still working on it, or on an earlier message of the conversation', async () => {
    const first = await postText('slow', 'first', 'line')
    const run = await gateway.nextRun()
    const second = await postText('slow', 'second', 'line')
    const messageNumber = (await askWhy(gateway, first)).explanations[0]?.message
    const working = await awaitReason(gateway, first, 'working')
    expect(working.sentence).toMatch(
      /^Not answered yet: the agent is working on it, \d+ \w+ after it came at [\d :-]+ UTC$/,
    )
    const queued = await awaitReason(gateway, second, 'queued')
    expect(queued.sentence).toMatch(
      new RegExp(
        `^Not answered yet: it has waited since [\\d :-]+ UTC behind #${messageNumber} of the same conversation, which is being worked on$`,
      ),
    )
    expect(queued.fix?.command).toBe(`npx postern why "#${messageNumber}"`)
    run.finish()
    ;(await gateway.nextRun()).finish()
    const answeredReason = await awaitReason(gateway, second, 'answered')
    expect(answeredReason.sentence).toMatch(/^Answered at [\d :-]+ UTC to https:\/\/mastodon\.test\/\S+$/)
    expect(answeredReason.fix).toBeUndefined()
    for (const explanation of [working, queued, answeredReason]) expectWellFormed(explanation)
  })

  test('answered it together with a later message', async () => {
    await postText('merging', 'first', 'merged')
    const run = await gateway.nextRun()
    const second = await postText('merging', 'second', 'merged')
    const third = await postText('merging', 'third', 'merged')
    run.finish()
    const bothRun = await gateway.nextRun()
    const messageNumber = (await askWhy(gateway, third)).explanations[0]?.message
    const working = await awaitReason(gateway, second, 'working')
    expect(listFacts(working)).toContain(`answered together with #${messageNumber}`)
    bothRun.finish()
    const reason = await awaitReason(gateway, second, 'answered')
    expect(reason.sentence).toMatch(/^Answered at [\d :-]+ UTC to https:\/\/mastodon\.test\/\S+$/)
    for (const explanation of [working, reason]) expectWellFormed(explanation)
  })

  test('got the edited text, and names the edited message', async () => {
    const first = await postText('slow', 'frist', 'edited')
    await gateway.nextRun()
    expect(await gateway.edit('slow', first, 'first')).toBe(202)
    const run = await gateway.nextRun()
    const messages = await gateway.messages()
    const edit = messages.find(({ flags }) => flags.includes('edit_applied'))
    const reason = await awaitReason(gateway, edit?.id ?? '', 'edit_applied')
    const messageNumber = (await askWhy(gateway, first)).explanations[0]?.message
    expect(reason.sentence).toMatch(
      /^Not answered: it changed a message that was still open, so the agent got the new words/,
    )
    expect(reason.fix?.command).toBe(`npx postern why "#${messageNumber}"`)
    expectWellFormed(reason)
    run.finish()
  })

  test('asked for consent or payment first', async () => {
    const consent = await awaitReason(gateway, await postText('shop', 'consent please'), 'waiting_for_consent')
    expect(consent.sentence).toMatch(
      /^Waits for consent of @alice@mastodon\.test since [\d :-]+ UTC, until [\d :-]+ UTC$/,
    )
    expect(consent.fix?.text).toContain('Only the sender can consent')
    const payment = await awaitReason(gateway, await postText('shop', 'pay please'), 'waiting_for_payment')
    expect(payment.fix?.command).toMatch(/^npx postern requirements grant \S+$/)
    const { items } = await gateway.requestOperator<{ items: { id: string }[] }>('/requirements')
    // The requirement's id finds the same explanation.
    const byId = await askWhy(gateway, items.at(-1)?.id ?? '')
    expect(byId.explanations.map(({ code }) => code)).toEqual(['waiting_for_consent'])
    for (const explanation of [consent, payment]) expectWellFormed(explanation)
  })
})
