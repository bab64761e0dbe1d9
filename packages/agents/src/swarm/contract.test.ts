// Runs the contract of agents against a swarm.
import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { openTestAgent } from '../../test/gateway.ts'
import type { Complete } from '../../test/model-server.ts'
import { openModelServer, replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'

function describeSwarm(base_url: string, memberSettings: object) {
  const model = { base_url, model: 'test-model' }
  return {
    use: 'swarm',
    default_agent: 'one',
    model,
    members: { one: { prompt: 'I am one.', max_tool_calls: 4, ...memberSettings } },
  }
}

function createModelOpener(complete: Complete, memberSettings: object = {}): AgentMakers['answers'] {
  return async () => {
    const server = await openModelServer(complete)
    const { agent } = await openTestAgent(describeSwarm(server.baseUrl, memberSettings))
    return { agent, close: server.close }
  }
}

const tools = { tools: './tools/shed.ts' }

/** Calls the tool first, and then answers with its result. */
function useTool(name: string, args: unknown): Complete {
  return ({ body }) => {
    const last = body.messages.at(-1)
    return last?.role === 'tool' ? replyWith(`It is: ${last.content}`) : respondWithToolCall(name, args)
  }
}

agentContract('swarm', {
  answers: createModelOpener(() => replyWith('hello back')),
  fails: createModelOpener(() => ({ status: 400, body: { error: { message: agentSecret, code: 'invalid_request' } } })),
  isUnavailable: createModelOpener(() => ({ status: 503, body: { error: { message: agentSecret } } })),
  hangs: createModelOpener(() => ({ hangs: true })),
  hashesAttachment: createModelOpener(useTool('hash_attachment', {}), tools),
  remembers: createModelOpener(request => {
    const userText = String(request.body.messages.findLast(({ role }) => role === 'user')?.content)
    const [, rememberedWord] = /remember (\w+)$/.exec(userText) ?? []
    return useTool(rememberedWord ? 'remember' : 'recall', rememberedWord ? { what: rememberedWord } : {})(request, 0)
  }, tools),
  refuses: createModelOpener(() =>
    streamOf([{ role: 'assistant', content: null }, { refusal: 'I can’t help with that.' }]),
  ),
})
