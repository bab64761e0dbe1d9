import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { openTestAgent } from '../../test/gateway.ts'
import type { Complete } from '../../test/model-server.ts'
import { openModelServer, replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'

function openModel(complete: Complete, members: object = {}): AgentMakers['answers'] {
  return async () => {
    const server = await openModelServer(complete)
    const { agent } = await openTestAgent({
      use: 'openai',
      base_url: server.baseUrl,
      model: 'test-model',
      show_tools: true,
      ...members,
    })
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

agentContract('openai', {
  answers: openModel(() => replyWith('hello back')),
  staysSilent: openModel(() => streamOf([{ role: 'assistant', content: '' }]), { may_stay_silent: true }),
  fails: openModel(() => ({ status: 400, body: { error: { message: agentSecret, code: 'invalid_request' } } })),
  isUnavailable: openModel(() => ({ status: 503, body: { error: { message: agentSecret } } })),
  hangs: openModel(() => ({ hangs: true })),
  countsHistory: openModel(({ body }) => replyWith(`${body.messages.length - 2} turns`)),
  hashesAttachment: openModel(useTool('hash_attachment', {}), tools),
  remembers: openModel(request => {
    const userText = String(request.body.messages.findLast(({ role }) => role === 'user')?.content)
    const [, what] = /remember (\w+)$/.exec(userText) ?? []
    return useTool(what ? 'remember' : 'recall', what ? { what } : {})(request, 0)
  }, tools),
  streams: openModel(useTool('look', { where: 'the shed' }), tools),
  refuses: openModel(() => streamOf([{ role: 'assistant', content: null }, { refusal: 'I can’t help with that.' }])),
})
