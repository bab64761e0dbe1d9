import type { ModelReply, ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, streamOf } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests check that a thought whose opening mark is in the prompt stays hidden after an answer without any thought.

const thought = 'The SECRET plan.\n</think>\n\nOpen daily.'
const writeStream = (text: string) => streamOf([...text].map(content => ({ content })))
const writeWhole = (content: string): ModelReply => ({
  body: { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] },
})

let model: ModelServer
let reply: ModelReply
let web: WebGateway

beforeAll(async () => {
  model = await openModelServer(() => reply)
  const shared = { base_url: model.baseUrl, model: 'test-model' }
  web = await openWebGateway({}, {
    agents: {
      desk: { use: 'openai', ...shared },
      whole: { use: 'openai', ...shared, stream: false },
      crew: { use: 'swarm', model: shared, default_agent: 'one', members: { one: { prompt: 'I am one.' } } },
    },
    default_agent: 'whole',
  } as Parameters<typeof openWebGateway>[1])
})
afterAll(async () => {
  await web.close()
  await model.close()
})

test('the chat shows no thought in an answer that the model sends as a whole', async () => {
  const sendText = async (text: string) => {
    reply = writeWhole(text)
    return (await web.runChat('hours?')).flatMap(event => ('delta' in event ? [event.delta] : [])).join('')
  }
  expect(await sendText('We are open.')).toContain('We are open.')
  expect(await sendText(thought)).toBe('Open daily.')
})

test.each(['desk', 'crew'])('a mail shows no thought in an answer that the model of %s streams', async agent => {
  const { mail } = web.gateway.simulation
  const askByMail = async (text: string) => {
    reply = writeStream(text)
    const plan = { to: `${agent}@agents.test`, from: 'alice@alice.test', text: 'hours?' }
    return (await mail.awaitReply((await mail.deliver(plan)).mail.messageId, 30_000)).text
  }
  expect(await askByMail('We are open.')).toContain('We are open.')
  const answer = await askByMail(thought)
  expect(answer).toContain('Open daily.')
  expect(answer).not.toMatch(/SECRET|think/)
})
