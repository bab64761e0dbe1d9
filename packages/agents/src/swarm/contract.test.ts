import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { openTestAgent } from '../../test/gateway.ts'
import type { Complete } from '../../test/model-server.ts'
import { call, openModelServer, replyWith, streamOf } from '../../test/model-server.ts'

function describe(base_url: string, members: object) {
  const model = { base_url, model: 'test-model' }
  return {
    use: 'swarm',
    default_agent: 'one',
    model,
    members: { one: { prompt: 'I am one.', max_tool_calls: 4, ...members } },
  }
}

function openModel(complete: Complete, members: object = {}): AgentMakers['answers'] {
  return async () => {
    const server = await openModelServer(complete)
    const { agent } = await openTestAgent(describe(server.baseUrl, members))
    return { agent, close: server.close }
  }
}

const tools = { tools: './tools/shed.ts' }

/** Calls the tool first, and then answers with its result. */
function useTool(name: string, args: unknown): Complete {
  return ({ body }) => {
    const last = body.messages.at(-1)
    return last?.role === 'tool' ? replyWith(`It is: ${last.content}`) : call(name, args)
  }
}

agentContract('swarm', {
  answers: openModel(() => replyWith('hello back')),
  fails: openModel(() => ({ status: 400, body: { error: { message: agentSecret, code: 'invalid_request' } } })),
  isUnavailable: openModel(() => ({ status: 503, body: { error: { message: agentSecret } } })),
  hangs: openModel(() => ({ hangs: true })),
  hashesAttachment: openModel(useTool('hash_attachment', {}), tools),
  remembers: openModel(request => {
    const userText = String(request.body.messages.findLast(({ role }) => role === 'user')?.content)
    const [, what] = /remember (\w+)$/.exec(userText) ?? []
    return useTool(what ? 'remember' : 'recall', what ? { what } : {})(request, 0)
  }, tools),
  refuses: openModel(() => streamOf([{ role: 'assistant', content: null }, { refusal: 'I can’t help with that.' }])),
})
