import { collectAnswer } from '@postern/pipeline'
import { expect, onTestFinished, test } from 'vitest'
import { openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import type { ModelReply } from '../../test/model-server.ts'
import { openModelServer, replyWith, respondWithToolCall } from '../../test/model-server.ts'

const cost = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 4 } })}\n\n`
const doneLine = 'data: [DONE]\n\n'
const paid = ({ pieces = [] }: ModelReply): ModelReply => ({ pieces: [...pieces.slice(0, -1), cost, doneLine] })

async function openModel(replies: readonly ModelReply[]) {
  const server = await openModelServer((_, index) => replies[index] ?? { status: 418 })
  onTestFinished(server.close)
  return server
}

test('the usage of a swarm is the sum over its members, steps and rescues, for each model', async () => {
  const [first, second] = [
    await openModel([paid(respondWithToolCall('navigate_to_two', {}))]),
    // The first member is asked again after an empty answer, which still costs tokens.
    await openModel([paid(replyWith('  ')), paid(replyWith('Hello from two.'))]),
  ]
  const { agent, close } = await openTestAgent({
    use: 'swarm',
    default_agent: 'one',
    model: { base_url: first.baseUrl, model: 'small' },
    members: {
      one: { prompt: 'I am one.', navigates_to: ['two'] },
      two: { prompt: 'I am two.', model: { base_url: second.baseUrl, model: 'large' } },
    },
  })
  onTestFinished(close)
  const answer = await collectAnswer(await agent.handle(testMessage('hello'), testContext()), () => undefined)
  expect(answer?.parts).toMatchObject([{ content: 'Hello from two.' }])
  expect([first.requests.length, second.requests.length]).toEqual([1, 2])
  expect(answer?.usage).toEqual([
    { model: 'small', input_tokens: 10, output_tokens: 4, total_tokens: 14 },
    { model: 'large', input_tokens: 20, output_tokens: 8, total_tokens: 28 },
  ])
})

test('the agent does not request a member model’s usage if the configuration says so', async () => {
  const server = await openModel([paid(replyWith('Hello.'))])
  const { agent, close } = await openTestAgent({
    use: 'swarm',
    default_agent: 'one',
    model: { base_url: server.baseUrl, model: 'small', usage: false },
    members: { one: { prompt: 'I am one.' } },
  })
  onTestFinished(close)
  const answer = await collectAnswer(await agent.handle(testMessage('hello'), testContext()), () => undefined)
  expect(answer).not.toHaveProperty('usage')
  expect(server.requests[0]?.body).not.toHaveProperty('stream_options')
})
